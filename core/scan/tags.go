package scan

import (
	"strings"
)

// roles are what a tag or heading has to be called to pose as somebody who gives
// orders to a model.
var roles = []string{"system", "assistant", "user", "human", "developer", "admin", "administrator", "instruction", "instructions", "inst", "important", "secret", "sys", "im_start", "im_end", "endoftext", "system_prompt", "system_message", "system-reminder", "system_reminder", "hidden", "critical", "override", "prompt", "ai", "agent", "tool_call", "tool_result", "function_calls", "root", "developer_message", "priority", "mandatory", "directive", "internal"}

// orders are words that make a heading an order in disguise.
var orders = []string{"system override", "system message", "system instruction", "system prompt", "system directive", "system notice", "system alert", "system update", "new instruction", "hidden instruction", "secret instruction", "admin override", "end of tool description", "end of description", "begin instruction", "new system", "override directive", "developer message", "instruction override", "end system", "begin system", "admin instruction", "security override", "important instruction", "priority override", "end of system", "system note", "developer note", "admin note", "begin user", "end of prompt"}

// shoutedOrders give orders by themselves.
var shoutedOrders = []string{"SYSTEM PROMPT", "SYSTEM OVERRIDE", "ADMIN OVERRIDE", "NEW INSTRUCTION", "END OF INSTRUCTIONS"}

// checkTags finds text that poses as a message of the system or of another role.
func (r *reading) checkTags() {
	for i := range r.texts {
		t := &r.texts[i]
		if t.named || len(t.s) < 5 {
			continue
		}
		r.spend(len(t.s))
		if t.flags&hasAngle != 0 {
			r.roleTags(i, t.s)
		}
		if t.flags&hasBracket != 0 {
			r.roleBrackets(i, t.s)
		}
		if t.flags&(hasHash|hasColon|hasUpper) != 0 {
			r.roleLines(i, t.s)
		}
		if t.flags&hasQuote != 0 {
			r.roleFences(i, t.s)
		}
		if t.flags&hasUpper != 0 && strings.Contains(t.s, "---") {
			r.rules(i, t.s)
		}
		if t.flags&(hasQuote|hasColon) == hasQuote|hasColon {
			r.roleObjects(i, t.s)
		}
	}
}

func role(s string) bool {
	for _, known := range roles {
		if len(s) == len(known) && strings.EqualFold(s, known) {
			return true
		}
	}
	k := strings.IndexAny(s, "_- ")
	return k > 0 && k+1 < len(s) && isAny(s[:k], speakers) && isAny(s[k+1:], messages)
}

// speakers and messages make a role together: <function_results>, <system-note>.
var (
	speakers = []string{"system", "assistant", "developer", "function", "tool", "user", "human", "agent", "admin", "model", "hidden", "secret", "important", "security"}
	messages = []string{"result", "results", "call", "calls", "output", "outputs", "response", "message", "messages", "prompt", "note", "notice", "reminder", "instruction", "instructions", "override", "use", "turn", "command", "directive", "context", "rules", "policy", "update"}
)

func isAny(s string, words []string) bool {
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return true
		}
	}
	return false
}

// roleTags finds <system>, </instructions>, <|im_start|> and the like.
func (r *reading) roleTags(text int, s string) {
	for i := strings.IndexByte(s, '<'); i >= 0; {
		limit := min(len(s), i+64)
		if end := strings.IndexByte(s[i:limit], '>'); end > 1 {
			inner := strings.Trim(s[i+1:i+end], "</| \t")
			special := s[i+1] == '|'
			if special && said(inner) || role(inner) && r.tagSpeaks(s, i, i+end+1, inner) {
				r.hit(r.position(text, i, i+end+1), text, i, i+end+1)
			}
		}
		next := strings.IndexByte(s[i+1:], '<')
		if next < 0 {
			return
		}
		i += 1 + next
	}
}

// tagSpeaks reports whether a tag has something to say: a closing one, or text
// behind it. <user> alone is how a path or a command line names a value.
func (r *reading) tagSpeaks(s string, start, end int, name string) bool {
	if s[start+1] == '/' {
		return true
	}
	rest := strings.TrimLeft(s[end:min(len(s), end+200)], " \n\t")
	switch strings.ToLower(name) {
	case "user", "secret", "admin", "prompt", "agent", "ai", "root", "priority", "system", "hidden", "internal", "instruction", "directive":
		// a value in angle brackets: only with a closing tag, or as a line of its own
		close := "</" + name
		return indexFold(rest, strings.ToLower(close)) >= 0 || start == 0 || s[start-1] == '\n' || strings.HasPrefix(s[end:], "\n") || s[start-1] == ' ' && sentenceStart(rest) && s[max(0, start-2)] == '.'
	}
	return said(rest)
}

func sentenceStart(s string) bool { return s != "" && (s[0] >= 'A' && s[0] <= 'Z') }

// roleBrackets finds [INST], [SYSTEM OVERRIDE], [[system]] and the like.
func (r *reading) roleBrackets(text int, s string) {
	for i := strings.IndexByte(s, '['); i >= 0; {
		limit := min(len(s), i+64)
		end := strings.IndexByte(s[i:limit], ']')
		if colon := strings.IndexByte(s[i:limit], ':'); end < 0 {
			end = colon + 1 // what follows is too long to be looked at
		}
		if end > 1 {
			inner := strings.Trim(s[i+1:i+end], "/[ \t")
			name, _, _ := strings.Cut(inner, ":")
			if strings.HasPrefix(s[i+end:], "]:") && role(inner) && !strings.EqualFold(inner, "user") || name != inner && role(name) && !strings.EqualFold(name, "user") || shouted(inner) && (role(inner) && !strings.HasPrefix(s[i+end:], "](") || hasOrder(inner)) || hasOrder(inner) {
				tier := r.position(text, i, i+end+1)
				if name == "INST" && !strings.Contains(s[i+end:min(len(s), i+2000)], "[/INST") && s[i+1] != '/' {
					tier = Soft // the name of a format
				}
				r.hit(tier, text, i, i+end+1)
			}
		}
		next := strings.IndexByte(s[i+1:], '[')
		if next < 0 {
			return
		}
		i += 1 + next
	}
}

func shouted(s string) bool { return s != "" && strings.ToUpper(s) == s && s[0] != 'U' }

func hasOrder(s string) bool {
	for _, o := range orders {
		if indexFold(s, o) >= 0 {
			return true
		}
	}
	return false
}

// roleLines finds "SYSTEM: ...", "### Instruction: ...", "Human: ... Assistant: ...".
func (r *reading) roleLines(text int, s string) {
	human := -1
	for _, o := range shoutedOrders {
		if at := strings.Index(s, o); at >= 0 {
			r.hit(r.position(text, at, at+len(o)), text, at, at+len(o))
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && (i == 0 || s[i-1] != '#') {
			r.heading(text, s, i)
		}
		if s[i] != ':' || i < 2 || i+1 < len(s) && s[i+1] > ' ' {
			continue
		}
		from := i
		for from > 0 && i-from < 40 && (wordByte(s[from-1]) || s[from-1] == ' ' && i-from < 24) {
			from--
		}
		word := strings.TrimSpace(s[from:i])
		start := i - len(word)
		last := word[strings.LastIndexByte(word, ' ')+1:]
		begins := start == 0 || strings.IndexByte("\n.!?>#*", s[start-1]) >= 0 || start > 1 && s[start-1] == ' ' && strings.IndexByte("\n.!?>#*]", s[start-2]) >= 0 || strings.IndexByte("({", s[max(0, start-1)]) >= 0
		switch {
		case last == "SYSTEM" || last == "ASSISTANT":
			if end := min(len(s), i+60); said(s[i:end]) {
				r.hit(r.position(text, i-len(last), i+1), text, i-len(last), i+1)
			}
		case !begins:
		case strings.EqualFold(word, "human") || strings.EqualFold(word, "user"):
			human = start
		case strings.EqualFold(word, "assistant") && human >= 0:
			r.hit(r.position(text, human, i+1), text, human, i+1)
			human = -1
		case strings.EqualFold(word, "system") && start > 0 && i+1 < len(s) && (s[start-1] == ' ' || s[start-1] == '{') && said(s[i:min(len(s), i+60)]):
			r.hit(Soft, text, start, i+1) // a heading of its own is a line of an honest list
		case hasOrder(word) || strings.EqualFold(word, "tool result") || strings.EqualFold(word, "function result"):
			r.hit(r.position(text, start, i+1), text, start, i+1)
		}
	}
}

// rules finds lines such as "--- SYSTEM UPDATE ---".
func (r *reading) rules(text int, s string) {
	for from := 0; ; {
		k := strings.Index(s[from:], "---")
		if k < 0 {
			return
		}
		start := from + k
		inner := start + 3
		for inner < len(s) && (s[inner] == '-' || s[inner] == ' ') {
			inner++
		}
		n := strings.Index(s[inner:min(len(s), inner+60)], "---")
		if n < 0 {
			from = inner
			continue
		}
		if title := s[inner : inner+n]; shouted(title) && hasOrder(title) {
			r.hit(r.position(text, start, inner+n+3), text, start, inner+n+3)
		}
		from = inner + n
	}
}

// roleFences finds a block of code that is named after a role, as if it were what
// that role said.
func (r *reading) roleFences(text int, s string) {
	for from := 0; ; {
		k := strings.Index(s[from:], "```")
		if k < 0 {
			return
		}
		start := from + k
		from = start + 3
		name, _, _ := strings.Cut(s[from:min(len(s), from+16)], "\n")
		if isAny(strings.TrimSpace(name), []string{"system", "assistant", "developer", "admin"}) {
			r.hit(Soft, text, start, from+len(name))
		}
	}
}

// roleObjects finds messages in the form in which programs send them to a model.
func (r *reading) roleObjects(text int, s string) {
	for from := 0; ; {
		k := strings.Index(s[from:], "role")
		if k < 0 {
			return
		}
		at := from + k
		from = at + 4
		rest := strings.TrimLeft(s[from:min(len(s), from+12)], `"' \`)
		if !strings.HasPrefix(rest, ":") {
			continue
		}
		who := strings.TrimLeft(rest[1:], `"' \`)
		ahead := s[at:min(len(s), at+64)]
		if (strings.HasPrefix(who, "sys") || strings.HasPrefix(who, "ass") || strings.HasPrefix(who, "dev")) && strings.Contains(ahead, "content") {
			r.hit(Soft, text, at, at+len(ahead)) // tools for chats describe such messages
		}
	}
}

// heading finds a heading that gives orders.
func (r *reading) heading(text int, s string, i int) {
	end := i
	for end < len(s) && s[end] == '#' {
		end++
	}
	level := end - i
	for end < len(s) && end-i < 60 && s[end] != '\n' && s[end] != ':' && s[end] != '#' {
		end++
	}
	title := strings.TrimSpace(s[i+level : min(end, len(s))])
	opens := end < len(s) && (s[end] == ':' || s[end] == '#' && shouted(title))
	if level >= 2 && (hasOrder(title) || opens && role(title) && !strings.EqualFold(title, "user") && !strings.EqualFold(title, "important")) {
		r.hit(r.position(text, i, end), text, i, end)
	}
}
