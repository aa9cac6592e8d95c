package tillpage

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/servertest/require"
)

// TestScriptTexts checks that the scripts show literals alone, whose translations the page has.
func TestScriptTexts(t *testing.T) {
	for _, file := range scripts() {
		raw := require.Must(fs.ReadFile(files, "assets/"+file))
		calls := len(regexp.MustCompile(`\bt\(`).FindAll(raw, -1))
		if file == "dom.js" { // which defines t
			calls--
		}
		if texts := shownText.FindAll(raw, -1); len(texts) != calls {
			t.Errorf("%s passes something else than a text to t: %d calls, %d texts", file, calls, len(texts))
		}
	}
	if len(scriptTexts()) < 100 {
		t.Errorf("the scripts show %d texts", len(scriptTexts()))
	}
}

// TestRefusals checks that every code of the till API has a sentence.
func TestRefusals(t *testing.T) {
	raw := require.Must(os.ReadFile("assets/refusals.js"))
	for code, meaning := range kernel.Codes {
		if meaning.When == "" || slices.Contains(notAtTills, string(code)) {
			continue
		}
		if !strings.Contains(string(raw), "\n  "+string(code)+": t(") {
			t.Errorf("there is no sentence for %s", code)
		}
	}
}

// notAtTills are codes that the till API does not answer.
var notAtTills = []string{"business_api_required", "location_scope_unsupported", "card_locked", "program_has_installed_cards"}

// TestIcons checks that all icons of the scripts are there.
func TestIcons(t *testing.T) {
	for _, file := range scripts() {
		raw := require.Must(fs.ReadFile(files, "assets/"+file))
		for _, m := range regexp.MustCompile(`\b(?:icon\(|iconName: )"([a-z]+)"`).FindAllStringSubmatch(string(raw), -1) {
			if !slices.Contains(icons, m[1]) {
				t.Errorf("%s shows the icon %s, which the page does not have", file, m[1])
			}
		}
	}
}
