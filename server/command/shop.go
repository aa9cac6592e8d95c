package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"punchcard/server/app"
	"punchcard/server/operation"
	"punchcard/store"
	"punchcard/store/backup"
)

// ShopGroup has the commands on shops.
type ShopGroup struct {
	Group
	Delete DeleteShop `cmd:"" help:"Delete a shop with all that it has. Nothing of it can be reached from then on."`
	Split  SplitShop  `cmd:"" help:"Move a shop into a file of its own, for another server, while this one serves."`
}

// ofShop is what commands on a whole shop have in common.
type ofShop struct {
	File
	Shop string `arg:"" help:"The shop: its id or name."`
}

// in opens the file and calls f for the shop.
func (c ofShop) in(f func(finder, store.Shop) error) error {
	if c.Shop == "" {
		return usagef("the shop must not be empty")
	}
	return OfShop(c).in(func(of finder) error {
		sh, err := do[store.Shop](context.Background(), of, operation.GetShop, nil)
		if err != nil {
			return err
		}
		return f(of, sh)
	})
}

// DeleteShop is the command that deletes a shop.
type DeleteShop struct {
	ofShop
	Confirm   string `env:"-" placeholder:"NAME" help:"The name of the shop, as a confirmation. Without it a terminal asks for the name."`
	BackupDir string `type:"path" placeholder:"DIR" help:"Folder of the backups that serve makes, to name those that still have the shop."`
}

// deletedShop is the JSON that DeleteShop prints.
type deletedShop struct {
	deleted
	Name    string   `json:"name"`
	Backups []string `json:"backups"`
}

// Run deletes the shop and names the backups that still have it.
func (c *DeleteShop) Run() error {
	out := deletedShop{Backups: []string{}}
	err := c.in(func(of finder, sh store.Shop) (err error) {
		if out.Backups, err = c.backups(of.caller.Access.Shop); err != nil {
			return err
		}
		if c.Confirm == "" {
			if c.Confirm, err = typedName(sh); err != nil {
				return err
			}
		}
		if c.Confirm != sh.Name {
			return usagef("--confirm: must be the name of the shop, exactly as it is written: %s", Printable(sh.Name))
		}
		out.deleted, out.Name = deleted{sh.ID, true}, sh.Name
		_, err = do[store.Shop](context.Background(), of, operation.DeleteShop, store.ShopName{Name: store.Given(c.Confirm)})
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&out, func(w io.Writer) {
		printf(w, "%s (%s) is deleted, and its keys and tills have ended. A server that serves the file erases its rows in small steps.\n",
			out.ID, out.Name)
		if len(out.Backups) > 0 {
			fmt.Fprintln(w, "These backups still have it:")
			for _, file := range out.Backups {
				printf(w, "%s\n", file)
			}
		} else if c.BackupDir != "" {
			printf(w, "No backup in %s has it.\n", c.BackupDir)
		}
		if c.BackupDir == "" {
			fmt.Fprintln(w, "Backups still have it: those in the folder of --backup-dir (PUNCHCARD_BACKUP_DIR) of serve, and what else "+
				"was copied.")
		}
	})
}

// backups returns the paths of the copies that have a shop, or that cannot be read: those beside the file, and the backups in the folder,
// oldest first.
func (c *DeleteShop) backups(shop int64) (paths []string, err error) {
	all, err := backup.Kept(c.DB)
	if err != nil {
		return nil, err
	}
	if c.BackupDir != "" {
		files, err := backup.Folder{DB: c.DB, Dir: c.BackupDir}.List()
		if err != nil {
			return nil, fmt.Errorf("--backup-dir (PUNCHCARD_BACKUP_DIR): %w", err)
		}
		for _, f := range files {
			all = append(all, filepath.Join(c.BackupDir, f.Name))
		}
	}
	paths = []string{}
	for _, path := range all {
		if has, err := store.HasShop(path, shop); has || err != nil {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// typedName asks at a terminal for the name of a shop.
func typedName(sh store.Shop) (string, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", usagef("a deleted shop is gone, so without a terminal this needs --confirm with its name: %s", Printable(sh.Name))
	}
	fmt.Fprintf(os.Stderr, "This deletes the shop %s with all its cards, for ever. Type its name to go on: ", Printable(sh.Name))
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if answer = strings.TrimSpace(answer); err != nil || answer == "" {
		return "", errNotConfirmed
	}
	return answer, nil
}

// SplitShop is the command that moves a shop into a file of its own.
type SplitShop struct {
	ofShop
	Out     string `type:"path" env:"-" placeholder:"FILE" help:"The new file. Without it, --moved-to corrects the address of a moved shop."`
	MovedTo string `name:"moved-to" env:"-" placeholder:"URL" help:"Public URL of the server that will serve the new file, such as https://cards.example.com. Everything about the shop leads there afterwards."`
	Abort   bool   `env:"-" help:"Open the shop again after a move that did not get to its end."`
	Quick   bool   `env:"-" help:"Verify only the integrity of the new file, not the invariants of check."`
	Quiet   bool   `env:"-" help:"Do not show the progress."`
}

// splitResult is the JSON that SplitShop prints.
type splitResult struct {
	store.Move
	File    string  `json:"file"`
	Seconds float64 `json:"seconds"`
	Tills   int     `json:"tills"`
	Keys    int     `json:"keys"`
}

// Run moves the shop, or opens it again.
func (c *SplitShop) Run() error {
	began := time.Now()
	if err := c.checkFlags(); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	var out splitResult
	err := c.in(func(of finder, sh store.Shop) (err error) {
		if c.Abort {
			out.Move, err = do[store.Move](ctx, of, operation.AbortMove, nil)
			return err
		}
		return c.split(ctx, of, sh, &out)
	})
	if err != nil {
		return err
	}
	out.Seconds = time.Since(began).Seconds()
	return c.show(&out, func(w io.Writer) { c.print(w, &out) })
}

// checkFlags refuses flags that are missing or do not go together.
func (c *SplitShop) checkFlags() (err error) {
	if c.Abort {
		if c.Out != "" || c.MovedTo != "" {
			return usagef("--abort: must be given alone, without --out and --moved-to")
		}
		return nil
	}
	if c.MovedTo == "" {
		return usagef("missing flags: --out and --moved-to, or --abort")
	}
	c.MovedTo, err = app.CheckPublicURL(c.MovedTo, "--moved-to")
	return err
}

// checkOut refuses a file that is not that of a shop which has moved, or that cannot be written.
func (c *SplitShop) checkOut(ctx context.Context, of finder, sh store.Shop) error {
	_, absent := os.Stat(c.Out)
	switch {
	case !sh.Closed.Valid:
		return backup.CheckSplit(c.DB, c.Out)
	case sh.Closed.V != store.ShopMoved:
	case absent != nil:
		return fmt.Errorf("--out: there is no file %s", c.Out)
	case store.CopiedAt(ctx, c.Out, of.caller.Access.Shop) == 0:
		return fmt.Errorf("--out: %s is not the file that the shop has moved to", c.Out)
	}
	return nil
}

// split moves the shop, or finishes a move that was begun before. For a shop that has moved, it prints the same again or,
// without a file, corrects the address.
func (c *SplitShop) split(ctx context.Context, of finder, sh store.Shop, out *splitResult) (err error) {
	fields := store.MoveFields{MovedTo: store.Given(c.MovedTo)}
	if c.Out == "" {
		if sh.Closed.V != store.ShopMoved {
			return usagef("missing flag: --out, since the shop has not moved yet")
		}
		out.Move, err = do[store.Move](ctx, of, operation.CorrectMove, fields)
		return err
	}
	if err := c.checkOut(ctx, of, sh); err != nil {
		return err
	}
	out.Move, err = do[store.Move](ctx, of, operation.BeginMove, fields)
	switch {
	case err != nil && sh.Closed.V == store.ShopMoving:
		return fmt.Errorf("--moved-to: %w Give that address, or open the shop again first with --abort", plain(err))
	case err != nil && sh.Closed.V == store.ShopMoved:
		return fmt.Errorf("--moved-to: %w Without --out, it is corrected", plain(err))
	case err != nil:
		return err
	}
	out.File = c.Out
	if out.Shop.Closed.V == store.ShopMoved {
		if err := c.checkOut(ctx, of, out.Shop); err != nil { // another command may have moved it meanwhile
			return err
		}
	} else {
		o := Copy{Quick: c.Quick, Quiet: c.Quiet}.options()
		err := backup.Split(ctx, c.DB, c.Out, of.caller.Access.Shop, c.MovedTo, out.Began, o)
		if err == nil {
			out.Move, err = do[store.Move](ctx, of, operation.FinishMove, store.MoveEnd{Began: store.Given(out.Began)})
		}
		if e, refused := store.AsError(err); refused && e.Code == store.Conflict {
			return fmt.Errorf("%w Another command has done that; serve %s only if it was that command's file too", plain(err), c.Out)
		}
		if err != nil {
			return fmt.Errorf("%w; the shop takes no writes until the same command ends its move, or --abort opens it again", plain(err))
		}
	}
	return out.count(ctx, of)
}

// count counts the tills and keys that go on working.
func (out *splitResult) count(ctx context.Context, of finder) error {
	tills, err := do[operation.List[store.Device]](ctx, of, operation.ListDevices, nil)
	if err != nil {
		return err
	}
	for _, d := range tills.Data {
		if !d.RevokedAt.Valid {
			out.Tills++
		}
	}
	keys, err := do[operation.List[store.KeyInfo]](ctx, of, operation.ListKeyInfos, nil)
	for _, key := range keys.Data {
		if !key.RevokedAt.Valid {
			out.Keys++
		}
	}
	return err
}

// print prints what was done, and what people have to do.
func (c *SplitShop) print(w io.Writer, out *splitResult) {
	name := fmt.Sprintf("%s (%s)", out.Shop.ID, out.Shop.Name)
	if c.Abort {
		printf(w, "%s is open again. A file that the move has made is of no use: remove it.\n", name)
		return
	}
	end := out.Began.Add(store.MovedKept).Std().Format(time.DateOnly)
	if c.Out == "" {
		printf(w, "Everything about %s leads to %s, until %s. Serve its file so, and give the address to its commands:\n\n"+
			"  export PUNCHCARD_PUBLIC_URL=%s\n", name, c.MovedTo, end, shellWord(c.MovedTo))
		return
	}
	printf(w, "%s is in %s. Serve it now, at %s:\n\n  punchcard serve --db %s --public-url %s\n\n", name, out.File, c.MovedTo,
		shellWord(out.File), shellWord(c.MovedTo))
	printf(w, "This file leads there until %s, and then erases the shop. Its keys (%d), its webhooks and the links and codes "+
		"of its\ncards go on working. People sign in again, with the same passwords.\n\n", end, out.Keys)
	if out.Shop.PublicURL.Valid {
		printf(w, "Lead the host of its public URL to that server: %s. What begins with it goes on working.\n\n", out.Shop.PublicURL.V)
	}
	printf(w, "If the host name of the shop does not move to the new server with it:\n")
	printf(w, "- Pair the tills (%d) again, after each has sent what it keeps offline, or set their address; their tokens stay.\n",
		out.Tills)
	printf(w, "- Give programs with a key, and assistants, the new address: %s/api/public/v1 and %s/mcp.\n", c.MovedTo, c.MovedTo)
	printf(w, "- Print posters and cards again before that day, and have holders who put their card on the home screen do so "+
		"again.\n")
}
