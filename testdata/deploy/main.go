// Command deploy checks files of deployments as the programs do that read them, where these are not at hand.
// It is a module of its own, since the server uses none of its packages.
//
//	deploy compose FILE [NAME=VALUE ...]  prints the project of Docker Compose as JSON, with these variables
//	deploy kubernetes FILE                finds what a cluster would refuse, or would never run
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("the arguments are compose or kubernetes, and a file")
	}
	switch args[0] {
	case "compose":
		return compose(args[1], args[2:])
	case "kubernetes":
		text, err := os.ReadFile(args[1])
		if err == nil {
			err = kubernetes(text)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", args[1], err)
		}
		return err
	}
	return fmt.Errorf("%q is neither compose nor kubernetes", args[0])
}

// compose reads a file by the rules of Docker Compose, whose reader this is.
func compose(file string, variables []string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("check"), cli.WithEnv(variables))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}
