package command

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"punchcard/server/templates"
	"punchcard/server/web"
	"punchcard/store"
)

// question is what init needs to know.
type question struct {
	flag, text string
	value      *string
	byDefault  string // empty: an answer is required
}

// asker asks at a terminal for what no flag gives.
type asker struct {
	in       *bufio.Reader
	out      io.Writer
	terminal bool
	missing  []string // flags without a value, where there is no terminal
}

func newAsker() *asker {
	return &asker{in: bufio.NewReader(os.Stdin), out: os.Stderr, terminal: term.IsTerminal(int(os.Stdin.Fd()))}
}

// line asks for a line, which may be empty.
func (a *asker) line(text, byDefault string) (string, error) {
	if byDefault != "" {
		text += " [" + byDefault + "]"
	}
	fmt.Fprint(a.out, Printable(text), ": ")
	line, err := a.in.ReadString('\n')
	if line = strings.TrimSpace(line); line == "" && err != nil {
		fmt.Fprintln(a.out)
		return "", errNotConfirmed
	}
	return line, nil
}

// say says what is wrong with an answer.
func (a *asker) say(text string) { fmt.Fprintln(a.out, "  "+Printable(text)) }

// ask asks questions at a terminal until their answers are valid. Elsewhere it takes the
// defaults.
func (c *Init) ask(a *asker, questions ...question) (err error) {
	for _, q := range questions {
		for a.terminal && *q.value == "" {
			if *q.value, err = a.line(q.text, q.byDefault); err != nil {
				return err
			}
			if *q.value = cmp.Or(*q.value, q.byDefault); *q.value == "" {
				continue
			}
			if faults := c.faultsOf(q.flag); faults != nil {
				a.say(faults[0])
				*q.value = ""
			}
		}
		if *q.value = cmp.Or(*q.value, q.byDefault); *q.value == "" {
			a.missing = append(a.missing, "--"+q.flag)
		}
	}
	return nil
}

// faultsOf returns what is wrong with the value of a flag.
func (c *Init) faultsOf(flag string) (faults []string) {
	all, err := c.faults()
	if err != nil {
		all = append(all, err.Error())
	}
	for _, f := range all {
		if rest, ok := strings.CutPrefix(f, "--"+flag); ok && rest != "" && strings.ContainsAny(rest[:1], " :") {
			faults = append(faults, f)
		}
	}
	return faults
}

// check returns an error for the faults of the flags, but for those that end with left, if it is not
// empty.
func (c *Init) check(left string) error {
	faults, err := c.faults()
	if err != nil {
		return err
	}
	faults = slices.DeleteFunc(faults, func(fault string) bool { return left != "" && strings.HasSuffix(fault, left) })
	if len(faults) > 0 {
		return usageError(strings.Join(faults, "; "))
	}
	return nil
}

// askAll asks for everything that no flag gives. Where there is no terminal it returns an
// error that names all missing flags.
func (c *Init) askAll(a *asker) error {
	if a.terminal {
		if err := c.check(" is required"); err != nil { // of what is given, before anything is asked
			return err
		}
	}
	err := c.ask(a,
		question{"name", "Name of the shop", &c.Name, ""},
		question{"timezone", "Time zone, such as Europe/Rome", &c.Timezone, ""},
		question{"currency", "Currency", &c.Currency, "EUR"},
		question{"language", "Language of its pages and mail (en, it, es, fr, de, pt)", &c.Language, "en"},
		question{"email", "Email of the owner", &c.Email, ""},
		question{"location", "Name of the first location", &c.Location, ""},
		question{"address", "Its street and number", &c.Address, ""},
		question{"city", "Its city", &c.City, ""},
		question{"postal-code", "Its postal code", &c.PostalCode, ""},
		question{"country-code", "Its country (two letters)", &c.CountryCode, ""})
	if err == nil {
		err = c.askProgram(a)
	}
	if err == nil {
		err = c.ask(a, question{"public-url", "Public URL of the server", &c.PublicURL, "http://127.0.0.1:8080"})
	}
	if err == nil && a.missing != nil {
		err = usagef("missing flags: %s", strings.Join(a.missing, ", "))
	}
	return err
}

// askProgram asks for the template of the program, and for what is to be otherwise.
func (c *Init) askProgram(a *asker) error {
	if err := c.askTemplate(a); err != nil {
		return err
	}
	t, err := c.find()
	if err != nil {
		return err
	}
	own := t.Fields(web.PrinterFor(c.Language), "")
	if err := c.ask(a, question{"program", "Name of the program", &c.Program, own.Get("name")}); err != nil ||
		!store.CollectsStamps(t.Type) {
		return err
	}
	if !a.terminal {
		return nil
	}
	given := c.Prize
	if given == nil {
		c.Prize = []string{"none"} // they are asked for next, for any number of stamps
	}
	if err := c.ask(a, question{"total-stamps", "Stamps of a full card", &c.TotalStamps, own.Get("total_stamps")}); err != nil ||
		given != nil {
		return err
	}
	return c.askPrizes(a)
}

// askTemplate asks for the template by a numbered list.
func (c *Init) askTemplate(a *asker) error {
	byDefault := templates.All[0].Key
	if !a.terminal || c.Template != "" {
		c.Template = cmp.Or(c.Template, byDefault)
		return nil
	}
	fmt.Fprintln(a.out, "Template of the first program:")
	for i, t := range templates.All {
		fmt.Fprintf(a.out, "  %d  %-8s  %s: %s\n", i+1, t.Key, t.Label, t.Text)
	}
	for {
		answer, err := a.line("Number or word", "1")
		if err != nil {
			return err
		}
		c.Template = cmp.Or(strings.ToLower(answer), byDefault)
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(templates.All) {
			c.Template = templates.All[n-1].Key
		}
		if _, err = c.faults(); err == nil {
			return nil
		}
		a.say(err.Error())
	}
}

// askPrizes offers the prizes of the template and takes others.
func (c *Init) askPrizes(a *asker) error {
	form, offered := url.Values{}, ""
	if c.Prize = nil; c.fillProgram(form) == nil {
		offered = strings.Join(prizesOf(form), ", ")
	}
	fmt.Fprintln(a.out, "Prizes, each as STAMPS=NAME, one on each line; an empty line ends them. Type none for no prizes.")
	text, byDefault := "Prizes", cmp.Or(offered, "none")
	for {
		answer, err := a.line(text, byDefault)
		switch {
		case err != nil:
			return err
		case answer == "" && (len(c.Prize) > 0 || offered != ""):
			return nil
		case answer == "" || answer == "none" && len(c.Prize) == 0:
			c.Prize = []string{"none"}
			return nil
		}
		c.Prize = append(c.Prize, answer)
		if faults := c.faultsOf("prize"); faults != nil {
			a.say(faults[len(faults)-1])
			c.Prize = c.Prize[:len(c.Prize)-1]
			continue
		}
		text, byDefault = "Next prize, or Enter", ""
	}
}
