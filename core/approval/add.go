package approval

import (
	"strconv"

	"github.com/holdfast-mcp/holdfast/core/record"
)

// Way is the way in of an added server.
type Way string

const (
	ByCLI    Way = "cli"
	ByREST   Way = "rest"
	ByMCP    Way = "mcp"
	ByImport Way = "import"
	ByFile   Way = "file"
)

// Ask is what a request says about quarantine.
type Ask byte

const (
	AskNothing Ask = iota
	AskMore        // quarantined: true
	AskLess        // quarantined: false
)

// AddRequest adds one server. For ByImport, Quarantine and the trust mode are the
// import command's own flags: what the imported file says about them is not passed on.
type AddRequest struct {
	Name        string
	Way         Way
	Actor       record.Actor
	Program     Program
	Options     Options
	Quarantine  Ask
	FileSource  string // file and line, for ByFile
	Incarnation string // random, made by the caller
	Proposals   int    // how many other proposals are stored, for ByMCP

	// Mask hides secrets in what the audit says of the program. Without one the
	// audit has its digest alone; a proposal is written down as it is.
	Mask func(Program) Program
}

// Add admits a server: docs/design/approval.md section 3. For ByFile a stored
// server is not an error but brought up to date with the file (Program, Options,
// an added quarantine, named again).
func Add(s State, r AddRequest) (Change, error) {
	r.Program = r.Program.filled()
	if err := r.check(s); err != nil {
		return Change{}, err
	}
	isStored := s.Server.Version > 0
	if isStored && s.Server.Name != r.Name {
		return Change{}, refuse(CodeBadInput, "server "+quote(r.Name)+" can't be added in the place of "+quote(s.Server.Name),
			"This is a fault of Holdfast, please report it.")
	}
	if isStored && r.Way == ByFile && !s.Server.Proposal {
		return refresh(s, r)
	}
	if isStored && (!s.Server.Proposal || r.Way == ByMCP) {
		return Change{}, refuse(CodeServerExists, "there is a server "+quote(r.Name)+" already",
			"Give the new one another name, or remove that one first with: holdfast server remove "+r.Name)
	}
	return admit(s, r), nil
}

// ValidName reports whether name can be a server's: ^[a-z0-9][a-z0-9-]{0,31}$.
// There is no underscore in it, so that server__tool can be read in one way only.
func ValidName(name string) bool {
	if len(name) == 0 || len(name) > 32 || name[0] == '-' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// check refuses requests that are bad in themselves, or not for who makes them.
func (r AddRequest) check(s State) error {
	who := record.Person
	switch r.Way {
	case ByFile:
		who = record.Operator
	case ByMCP:
		who = record.Agent
	case ByCLI, ByREST, ByImport:
	default:
		return refuse(CodeBadInput, "there is no way in called "+quote(string(r.Way)), "Add the server with: holdfast server add")
	}
	if err := may(r.Actor, "add a server this way", who); err != nil {
		return err
	}
	if !ValidName(r.Name) {
		return refuse(CodeBadInput, quote(r.Name)+" can't be the name of a server",
			"Use lower-case letters, digits and hyphens, at most 32, and no hyphen at the beginning.")
	}
	if r.Incarnation == "" {
		return refuse(CodeBadInput, "a server can't be added without an identity for it", "This is a fault of Holdfast, please report it.")
	}
	if r.Quarantine > AskLess {
		return refuse(CodeBadInput, "what is asked about the quarantine is neither more nor less", "Say quarantined true or false, or nothing.")
	}
	if err := r.Program.check(); err != nil {
		return err
	}
	if err := r.Options.check(r.Actor); err != nil {
		return err
	}
	if r.Way != ByMCP {
		return nil
	}
	if err := r.checkAgent(s.Settings); err != nil {
		return err
	}
	if r.Proposals >= MaxProposals {
		return refuse(CodeTooLarge, strconv.Itoa(r.Proposals)+" proposed servers wait for a person, and "+strconv.Itoa(MaxProposals)+" is the limit",
			"A person can enable or remove them; see them with: holdfast server list")
	}
	return r.Program.asProposed()
}

// checkAgent refuses what an agent may not ask for: it is refused, never ignored.
func (r AddRequest) checkAgent(settings Settings) error {
	asked, _ := settings.ModeOf(Server{Options: r.Options})
	usual, _ := settings.ModeOf(Server{})
	hint := "Propose the server without it; a person decides the rest."
	switch {
	case r.Quarantine == AskLess:
		return refuse(CodeNotForAgents, "an agent can't add a server that is not quarantined", hint)
	case asked > usual:
		return refuse(CodeNotForAgents, "an agent can't ask for the trust mode "+asked.String()+", which is looser than the default", hint)
	case r.Options.OnHold == OnHoldKeep:
		return refuse(CodeNotForAgents, "an agent can't ask for on_hold keep", hint)
	case r.Program.Isolation != "":
		// Which isolation is weaker is not known here, so that any other than the
		// default is refused.
		return refuse(CodeNotForAgents, "an agent can't choose how a server is isolated", hint)
	}
	return nil
}

// admit makes a new server, in the place of a proposal where there is one.
func admit(s State, r AddRequest) Change {
	d := begin(s, r.Name, r.Actor)
	replaced := d.server.Proposal
	srv := Server{
		Name:        r.Name,
		Version:     s.Server.Version,
		Incarnation: r.Incarnation,
		Program:     r.Program,
		Options:     r.Options,
		FromFile:    r.Way == ByFile,
		Named:       true,
		Proposal:    r.Way == ByMCP,
		Enabled:     r.Way != ByMCP,
		Created:     d.now,
	}
	rule := s.Settings.quarantines(srv)
	srv.Quarantined = r.Quarantine == AskMore || rule && r.Quarantine != AskLess
	srv.FirstScan = rule && r.Quarantine == AskNothing && s.Settings.scans(srv)
	srv.TrustedWhenAdded = rule && r.Quarantine == AskLess
	if r.Way == ByFile && r.Quarantine == AskMore {
		srv.FileQuarantines, srv.FileSource = true, r.FileSource
	}
	d.server = srv
	mode, bad := s.Settings.ModeOf(srv)
	detail := srv.said(r.Mask)
	detail["way"], detail["trust_mode"] = string(r.Way), mode.String()
	detail["quarantined"] = strconv.FormatBool(srv.Quarantined)
	if bad != "" {
		detail["counts_as_manual"] = quote(bad)
	}
	if replaced {
		detail["replaces"] = "a proposal"
	}
	what := ActAdded
	if srv.Proposal {
		what = ActProposed
	}
	d.touch(what, detail)
	if srv.TrustedWhenAdded {
		d.act(ActReleased, map[string]string{"by": "added as trusted"})
	}
	d.change.Effects.Pass = srv.Enabled
	return d.done()
}

// refresh brings a stored server up to date with the file. The file can add a
// quarantine and never lift one.
func refresh(s State, r AddRequest) (Change, error) {
	d := begin(s, r.Name, r.Actor)
	if !d.server.FromFile || !d.server.Named {
		d.server.FromFile, d.server.Named = true, true
		d.touch(ActNamedAgain, nil)
		d.change.Effects.Pass = true
	}
	if err := d.rewrite(EditRequest{Program: &r.Program, Options: &r.Options, Incarnation: r.Incarnation, Mask: r.Mask}); err != nil {
		return Change{}, err
	}
	says, source := r.Quarantine == AskMore, ""
	if says {
		source = r.FileSource
	}
	switch {
	case says && (!d.server.FileQuarantines || !d.server.Quarantined):
		d.server.FileQuarantines, d.server.FileSource = true, source
		d.quarantine("the configuration file says so")
	case says != d.server.FileQuarantines || source != d.server.FileSource:
		d.server.FileQuarantines, d.server.FileSource = says, source
		d.touch(ActEdited, map[string]string{"changed": "where the file says quarantined"})
	}
	return d.done(), nil
}

// Dropped marks a server of the file that the file no longer names. Nothing of it
// is started, listed or called; all that is stored stays.
func Dropped(s State, actor record.Actor) (Change, error) {
	if err := may(actor, "drop a server from the configuration", record.Operator); err != nil {
		return Change{}, err
	}
	if err := stored(s, s.Server.Name); err != nil {
		return Change{}, err
	}
	d := begin(s, s.Server.Name, actor)
	if !d.server.FromFile || !d.server.Named {
		return d.done(), nil
	}
	d.server.Named = false
	d.server.FileQuarantines, d.server.FileSource = false, ""
	d.touch(ActDropped, nil)
	d.change.Effects.CancelCalls = true
	return d.done(), nil
}
