package settings_test

import (
	"strings"
	"testing"

	"github.com/holdfast-mcp/holdfast/core/policy"
	"github.com/holdfast-mcp/holdfast/internal/fault"
	"github.com/holdfast-mcp/holdfast/internal/workspace/settings"
)

// TestMistakes: each keeps the server from starting, with the file, the line and the
// name that was probably meant.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ file, text, says string }{
		"empty":                 {userFile, "", "settings.json:1: the file is empty"},
		"blank":                 {userFile, " \n", "the file is empty"},
		"not an object":         {userFile, "[]", "must be an object"},
		"a text":                {userFile, `"x"`, "must be an object"},
		"two objects":           {userFile, "{}\n{}", "settings.json:2: something follows"},
		"cut":                   {userFile, "{\n\"permissions\": {", "ends too early"},
		"no UTF-8":              {userFile, "{\"permissions\": {\"deny\": [\"Read(\xff)\"]}}", "not valid UTF-8"},
		"a byte order mark":     {userFile, "\xef\xbb\xbf{}", "settings.json:1"},
		"too deep":              {userFile, strings.Repeat("[", 1<<20-1), "brackets over 32 deep"},
		"too deep in the end":   {userFile, "{ /* ] */ // ]\n \"a\": " + strings.Repeat(`["]",`, 40), "brackets over 32 deep"},
		"too large":             {userFile, strings.Repeat(" ", 1<<20) + "{}", "too large"},
		"unknown key":           {userFile, "{\n \"permision\": {}}", "settings.json:2: permision: unknown key; did you mean permissions?"},
		"unknown in it":         {managedFile, "{\"permissions\": {\n\"alow\": []}}", "settings.json:2: permissions.alow: unknown key; did you mean allow?"},
		"nothing near":          {userFile, `{"zebra": 1}`, "known here are disableAllHooks, hooks, permissions, sandbox"},
		"__proto__":             {userFile, `{"__proto__": {}}`, "unknown key"},
		"other case":            {userFile, `{"Permissions": {}}`, "did you mean permissions?"},
		"twice":                 {projectFile, "{\"sandbox\": {},\n\"sandbox\": {}}", "settings.json:2: sandbox: stands here for the second time; the first is in line 1"},
		"twice, escaped":        {projectFile, `{"sandbox": {}, "s\u0061ndbox": {}}`, "second time"},
		"twice in permissions":  {projectFile, `{"permissions": {"deny": ["Read"], "deny": []}}`, "permissions.deny: stands here for the second time"},
		"a rule that is none":   {userFile, "{\"permissions\": {\"allow\": [\n\"Bash(ls)\",\n\"Shell(ls)\"]}}", "settings.json:3: permissions.allow[1]: "},
		"a rule of a number":    {userFile, `{"permissions": {"deny": [1]}}`, "permissions.deny[0]: must be a string"},
		"rules of a text":       {userFile, `{"permissions": {"deny": "Read"}}`, "must be a list"},
		"null for a list":       {userFile, `{"permissions": {"deny": null}}`, "must be a list"},
		"null for an object":    {userFile, `{"permissions": null}`, "must be an object"},
		"control in a rule":     {userFile, `{"permissions": {"deny": ["Read(a\u0000b)"]}}`, "control characters"},
		"project's own in user": {userFile, `{"permissions": {"deny": ["Read(/src)"]}}`, "permissions.deny[0]"},
		"a mode that is none":   {userFile, `{"permissions": {"defaultMode": "acceptedits"}}`, "acceptEdits"},
		"a mode of a bool":      {userFile, `{"permissions": {"defaultMode": true}}`, "must be a string"},
		"a bool of a text":      {userFile, `{"permissions": {"disableBypassPermissionsMode": "disable"}}`, "must be true or false"},
		"relative directory":    {userFile, `{"permissions": {"additionalDirectories": ["x"]}}`, "absolute path"},
		"empty directory":       {userFile, `{"permissions": {"additionalDirectories": [""]}}`, "must not be empty"},
		"directory of a user":   {projectFile, `{"permissions": {"additionalDirectories": ["~other/x"]}}`, "absolute path"},
		"hooks off in project":  {projectFile, `{"disableAllHooks": true}`, "may stand in the managed and the user's settings alone"},
		"hooks off in local":    {localFile, `{"disableAllHooks": false}`, "can't switch off"},
		"sandbox off":           {userFile, `{"sandbox": {"mode": "off"}}`, "--sandbox off"},
		"sandbox mode":          {userFile, `{"sandbox": {"mode": "readonly"}}`, "did you mean read-only?"},
		"network":               {userFile, `{"sandbox": {"network": "proxy"}}`, "known here are none, host"},
		"network of a bool":     {userFile, `{"sandbox": {"network": false}}`, "must be a string"},
		"sockets":               {userFile, `{"sandbox": {"unixSockets": 1}}`, "must be true or false"},
		"readable":              {userFile, `{"sandbox": {"readable": ["x"]}}`, "absolute path"},
		"env with a value":      {userFile, `{"sandbox": {"env": ["A=b"]}}`, "no name of an environment variable"},
		"event":                 {userFile, `{"hooks": {"PreTooluse": []}}`, "did you mean PreToolUse?"},
		"another event":         {userFile, `{"hooks": {"SessionStart": []}}`, "known here are PostToolUse, PreToolUse"},
		"hooks of an object":    {userFile, `{"hooks": {"PreToolUse": {}}}`, "must be a list"},
		"matcher":               {userFile, `{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]}]}}`, "no regular expression"},
		"no hooks":              {userFile, `{"hooks": {"PreToolUse": [{"matcher": "*"}]}}`, "has no hooks"},
		"empty hooks":           {userFile, `{"hooks": {"PreToolUse": [{"hooks": []}]}}`, "has no hooks"},
		"no type":               {userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"command": "x"}]}]}}`, "has no type"},
		"another type":          {userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "command": "x"}]}]}}`, "hooks.PreToolUse[0].hooks[0].type"},
		"no command":            {userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command"}]}]}}`, "has no command"},
		"blank command":         {userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": " "}]}]}}`, "has no command"},
		"timeout of 0":          {userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}]}}`, "from 1 to 600"},
		"timeout of a text":     {userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": "60"}]}]}}`, "from 1 to 600"},
		"timeout too long":      {userFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 6e2}]}]}}`, "from 1 to 600"},
		"bad hook of a project": {projectFile, `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timout": 3}]}]}}`, "did you mean timeout?"},

		"contract: empty":          {contractFile, "", "contract.yaml:1: the file is empty"},
		"contract: comments":       {contractFile, "# x\n", "the file is empty"},
		"contract: version":        {contractFile, "version: 2\n", "must be 1"},
		"contract: version text":   {contractFile, "version: \"1\"\n", "must be 1"},
		"contract: version octal":  {contractFile, "version: 0o1\n", "must be 1"},
		"contract: no version":     {userContract, "rules: []\n", "has no version"},
		"contract: unknown key":    {contractFile, "version: 1\nrulez: []\n", "contract.yaml:2: rulez: unknown key; did you mean rules?"},
		"contract: a list":         {contractFile, "- version: 1\n", "must be a mapping"},
		"contract: a text":         {contractFile, "version 1\n", "must be a mapping"},
		"contract: null":           {contractFile, "~\n", "must be a mapping"},
		"contract: twice":          {contractFile, "version: 1\nrules:\n  - glob: x\n    read: deny\n    read: allow\n", "contract.yaml:5: rules[0].read: stands here for the second time"},
		"contract: version twice":  {contractFile, "version: 1\nversion: 1\n", "second time"},
		"contract: no glob":        {contractFile, "version: 1\nrules:\n  - read: deny\n", "contract.yaml:3: rules[0]: has no glob"},
		"contract: no axis":        {contractFile, "version: 1\nrules:\n  - glob: x\n    reason: r\n", "none of read, write, execute"},
		"contract: effect":         {contractFile, "version: 1\nrules:\n  - glob: x\n    read: dney\n", "did you mean deny?"},
		"contract: effect of bool": {contractFile, "version: 1\nrules:\n  - glob: x\n    read: false\n", "must be one of allow, ask, deny"},
		"contract: effect null":    {contractFile, "version: 1\nrules:\n  - glob: x\n    read:\n", "must be one of allow, ask, deny"},
		"contract: effect list":    {contractFile, "version: 1\nrules:\n  - glob: x\n    read: [deny]\n", "must be one of allow, ask, deny"},
		"contract: glob number":    {contractFile, "version: 1\nrules:\n  - glob: 1\n    read: deny\n", "must be a text"},
		"contract: empty glob":     {contractFile, "version: 1\nrules:\n  - glob: \"\"\n    read: deny\n", "must not be empty"},
		"contract: bad glob":       {contractFile, "version: 1\nrules:\n  - glob: ok\n    read: deny\n  - glob: \"!x\"\n    read: deny\n", "contract.yaml:5: "},
		"contract: star":           {contractFile, "version: 1\nrules:\n  - glob: *.env\n    read: deny\n", "must stand in quotes"},
		"contract: alias":          {contractFile, "version: 1\nrules:\n  - &a {glob: x, read: deny}\n  - *a\n", "anchors"},
		"contract: merge":          {contractFile, "version: 1\n<<: {rules: []}\n", "no word"},
		"contract: tag":            {contractFile, "version: !!int \"1\"\n", "tags"},
		"contract: own tag":        {contractFile, "version: 1\nrules: !x []\n", "tags"},
		"contract: two documents":  {contractFile, "version: 1\n---\nversion: 1\n", "one document"},
		"contract: ended early":    {contractFile, "version: 1\n...\nrules: [\n", "one document"},
		"contract: rules null":     {contractFile, "version: 1\nrules:\n", "must be a list"},
		"contract: rules mapping":  {contractFile, "version: 1\nrules: {}\n", "must be a list"},
		"contract: a rule of text": {contractFile, "version: 1\nrules: [x]\n", "must be a mapping"},
		"contract: defaults":       {userContract, "version: 1\ndefaults: {red: deny}\n", "did you mean read?"},
		"contract: defaults text":  {userContract, "version: 1\ndefaults: deny\n", "must be a mapping"},
		"contract: key of a list":  {contractFile, "version: 1\n? [rules]\n: []\n", "no word"},
		"contract: UTF-16":         {contractFile, "\xff\xfev\x00:\x00", "not valid UTF-8"},
		"contract: control":        {contractFile, "version: 1\nrules:\n  - glob: \"a\\u0007\"\n    read: deny\n", "control characters"},
		"contract: deep":           {contractFile, "version: 1\nrules: " + strings.Repeat("[", 20000), "nested too deep"},
		"contract: quote":          {contractFile, "version: 1\nrules:\n  - glob: \"a\n    read: deny\n", "contract.yaml:3: a text in quotes begins here and is not closed"},
		"contract: dash":           {contractFile, "version: 1\nrules:\n  - glob: a\n   read: deny\n", "contract.yaml:3: in the list that begins here"},
		"contract: indent":         {contractFile, "version: 1\nrules:\n  - glob: a\n     read: deny\n", "contract.yaml:4: a \":\" stands where none can"},
		"contract: key":            {contractFile, "version: 1\nrules:\n- glob: a\n  read: deny\n glob: b\n", "is no \"key: value\""},
		"contract: tab":            {contractFile, "version: 1\nrules:\n\t- glob: a\n", "contract.yaml:3: lines are indented with spaces"},
		"contract: bracket":        {contractFile, "version: 1\nrules: [a, b\n", "contract.yaml:2: the list that begins here with ["},
		"contract: brace":          {contractFile, "version: 1\nrules:\n  - {glob: a\n", "contract.yaml:3: the mapping that begins here with {"},
		"contract: at":             {contractFile, "version: 1\nrules:\n  - glob: @a\n", "contract.yaml:3: a text that begins with @"},
		"contract: colon":          {contractFile, "version: 1\nrules\n  - glob: a\n", "contract.yaml:2: a key lacks its"},
		"contract: escape":         {contractFile, "version: 1\nrules:\n  - glob: \"\\q\"\n", "contract.yaml:3: a text in \"...\" has a \\ that means nothing"},
		"contract: bell":           {contractFile, "version: 1\nx: \a\n", "contract.yaml:2: the file has control characters"},
		"contract: bar":            {contractFile, "version: 1\nrules:\n  - glob: |x\n", "begins with | or >"},
		"contract: unknown alias":  {contractFile, "version: 1\nrules:\n  - glob: *a\n", "must stand in quotes"},
		"contract: directive":      {contractFile, "%YAML 2.0\n---\nversion: 1\n", "contract.yaml:1: lines that begin with %"},
		"contract: a lone bracket": {contractFile, "version: 1\nrules: ]\n", "belongs to none"},
		"contract: too large":      {contractFile, "version: 1\n#" + strings.Repeat("x", 256<<10), "too large"},
		"contract: user's own /p":  {userContract, "version: 1\nrules:\n  - glob: /x\n    read: deny\n", "contract.yaml:3"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := world(t, map[string]string{c.file: c.text})
			s, err := settings.Load(o)
			if err == nil {
				t.Fatalf("it starts: %+v", s)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %q, want %q", err, c.says)
			}
			at := settings.PlaceOf(err)
			if !strings.HasSuffix(at.File, c.file[strings.LastIndex(c.file, "/")+1:]) || at.Layer == policy.NoLayer {
				t.Errorf("the place is %+v", at)
			}
			if fault.HintOf(err) == "" || fault.KindOf(err) == fault.Internal {
				t.Errorf("kind %s, hint %q", fault.KindOf(err), fault.HintOf(err))
			}
		})
	}
}

func TestAllMistakesAreTold(t *testing.T) {
	o, _ := world(t, map[string]string{userFile: "{\"a\": 1,\n\"b\": 2,\n\"permissions\": {\"deny\": [3]}}"})
	_, err := settings.Load(o)
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v", err)
	}
}

func TestContractsThatAreRight(t *testing.T) {
	for _, text := range []string{
		"version: 1", "version: 1\nrules: []\n", "version: 1\ndefaults: {}\n", "{version: 1, rules: [{glob: x, read: ask}]}", "---\nversion: 1\n",
		"version: 1\nrules:\n  - {glob: \"*.env\", write: 'deny', owner: me, reason: \"a: b\"}\n", "version: 1\n...\n",
	} {
		o, _ := world(t, map[string]string{contractFile: text})
		if _, err := settings.Load(o); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzContract: nothing panics, and what is taken has a version and only known words.
func FuzzContract(f *testing.F) {
	for _, seed := range []string{
		"version: 1\n", "version: 1\nrules:\n  - glob: \"*.env\"\n    read: deny\n", "version: 1\ndefaults: {read: ask}\n", "&a [*a]", "version: 1\n---\n", "? x\n: y\n", "\xff\xfe", "!!map {version: 1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		spec, err := settings.ParseContract(policy.Project, "c.yaml", text)
		if err != nil {
			return
		}
		if !strings.Contains(string(text), "version") {
			t.Fatal("a contract without a version")
		}
		for _, r := range spec.Rules {
			if r.Glob == "" || r.Line < 1 || r.Axes == (policy.Axes{}) {
				t.Fatalf("a rule that says nothing: %+v", r)
			}
		}
	})
}
