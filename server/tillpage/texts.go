package tillpage

import (
	"regexp"
	"sync"

	"punchcard/server/web"
)

// shownText matches a text that a script passes to the function t of dom.js.
var shownText = regexp.MustCompile(`\bt\("([^"]*)"`)

// scriptTexts returns the texts that the scripts show.
var scriptTexts = sync.OnceValue(func() (list []string) {
	for _, file := range scripts() {
		for _, m := range shownText.FindAllSubmatch(assets().Body(file), -1) {
			list = append(list, string(m[1]))
		}
	}
	return list
})

// translations returns the texts of the scripts in the language of a printer, by the English
// texts. English needs none.
func translations(print *web.Printer) map[string]string {
	texts := map[string]string{}
	for _, text := range scriptTexts() {
		if s := print.Translation(text); s != "" {
			texts[text] = s
		}
	}
	return texts
}
