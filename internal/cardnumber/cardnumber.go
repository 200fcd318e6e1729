// Package cardnumber finds numbers of payment cards in texts, so that none comes in: card numbers are typed on providers'
// pages, and nothing here may hold one (docs/PCI.md).
//
// A number is one of a card if its first digits and its length are those of a card scheme, and its check digit is right
// (ISO/IEC 7812-1, Luhn). Its digits may be of any script, and stand in groups with spaces, dashes, points and similar
// marks between them. A longer row of digits is no card. Numbers of other kinds that have a check digit of their own
// (a CLABE, a CNPJ, an EAN) are none where that digit is right.
package cardnumber

import "bytes"

// In reports whether a text holds a card's number. It allocates nothing.
func In[T ~string | ~[]byte](text T) bool {
	return found(text, plainText) && !fraction(text)
}

// fraction reports whether a text is a number below a thousand with a fraction, such as a rate or a place on the map.
func fraction[T ~string | ~[]byte](text T) bool {
	i := 0
	if len(text) > 0 && text[0] == '-' {
		i++
	}
	from := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i == from || i > from+3 || i+1 >= len(text) || text[i] != '.' {
		return false
	}
	for i++; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// InJSON reports whether a JSON text may hold a card's number: it reads escapes, but does not know where a text ends within
// a name or a value. It is fast, and allocates nothing. A text in which it finds none holds none.
func InJSON(text []byte) bool {
	return found(text, jsonText) || bytes.Contains(text, percent)
}

// percent is a % that is written as an escape: what follows may be another escape.
var percent = []byte(`\u0025`)

// Is reports whether a text as a whole is a card's number, with nothing but marks around and between its digits. A field
// that holds another number, such as a document's, is checked so.
func Is(text string) bool {
	var r run
	for _, c := range text {
		switch kind, digit := classOf(c); kind {
		case isDigit:
			r.digit(digit, 0)
		case other:
			return false
		}
	}
	return r.n <= longest && r.n >= shortest && isCard(r.digits[:r.n], r.ng > 1)
}

const (
	shortest, longest = 12, 19
	// A run has at most so many digits and groups at a time; of a longer one, the first half is let go.
	mostDigits, mostGroups = 128, 40
	// mostMarks is how many marks may stand between two groups.
	mostMarks = 3
	// longestPhone is the longest telephone number with its country code (E.164).
	longestPhone = 15
	// shortestHash is the fewest hexadecimal digits of a hash or a random id: digits in it are no number.
	shortestHash = 32
)

// group is digits without a mark between them.
type group struct {
	from, n    int // its digits in the run
	start, end int // its bytes in the text
	rare       bool
}

// run is a row of digits with marks between them.
type run struct {
	digits [mostDigits]byte
	groups [mostGroups]group
	n, ng  int
	apart  bool // the next digit begins a group
	rare   bool // one of the marks before it is seldom used in numbers
	plus   bool // a + stands in front
	cut    bool // the run began before
}

// digit adds a digit whose bytes begin at a place.
func (r *run) digit(d byte, at int) {
	if r.ng == 0 || r.apart {
		if r.full() {
			r.halve()
		}
		r.groups[r.ng] = group{from: r.n, start: at, rare: r.rare}
		r.ng++
		r.apart, r.rare = false, false
	}
	g := &r.groups[r.ng-1]
	if g.n++; g.n <= longest { // of a longer group only its length matters
		r.digits[r.n] = d
		r.n++
	}
}

// halve lets the first groups go.
func (r *run) halve() {
	half := r.ng / 2
	from := r.groups[half].from
	copy(r.digits[:], r.digits[from:r.n])
	r.n -= from
	r.ng = copy(r.groups[:], r.groups[half:r.ng])
	for i := range r.groups[:r.ng] {
		r.groups[i].from -= from
	}
	r.cut, r.plus = true, false
}

// full reports whether another group may let groups go.
func (r *run) full() bool { return r.ng == mostGroups || r.n+longest+1 > mostDigits }

// card reports whether groups of the run are a card's number. The text is the one that the run is from.
func card[T ~string | ~[]byte](r *run, text T, how syntax) bool {
	if r.n < shortest {
		return false
	}
	for first := range r.ng {
		n := 0
		for last := first; last < r.ng && n <= longest; last++ {
			if r.groups[last].n > longest {
				break
			}
			if n += r.groups[last].n; n < shortest || n > longest || !r.grouped(first, last, n) {
				continue
			}
			from, start, end := r.groups[first].from, r.groups[first].start, r.groups[last].end
			if (first > 0 || !r.plus || n > longestPhone) && isCard(r.digits[from:from+n], last > first) &&
				!r.inLonger(first, last, account(text, r)) && !inUUID(text, start, end, how) && (last > first || !inHash(text, start, end)) {
				return true
			}
		}
	}
	return false
}

// longRow is how many digits a row of groups of four has at least that is a longer number as a whole, such as the key of a NF-e (44) or an
// IBAN.
const longRow = 20

// inLonger reports whether groups of four are in a row of such groups that is a longer number. A shorter group may end it, and the first
// group of an account's number begins it. A card's number in front of the month and the year of its expiry is none.
func (r *run) inLonger(first, last int, account bool) bool {
	four := func(i int) bool { return r.groups[i].n == 4 || i == 0 && account }
	from, to := first, first
	for from > 0 && !r.groups[from].rare && four(from-1) {
		from--
	}
	for to < r.ng && four(to) && (to == from || !r.groups[to].rare) {
		to++
	}
	n := 4 * (to - from)
	if to < r.ng && r.groups[to].n < 4 && !r.groups[to].rare {
		n += r.groups[to].n
		to++
	}
	if n < longRow || last >= to {
		return false
	}
	if expiry := from + 4; first == from && last == from+3 && r.groups[expiry].n == 4 && n < longRow+4 {
		at := r.groups[expiry].from
		month := 10*r.digits[at] + r.digits[at+1]
		return month < 1 || month > 12
	}
	return true
}

// account reports whether a run begins as an IBAN does: two letters and two digits.
func account[T ~string | ~[]byte](text T, r *run) bool {
	at := r.groups[0].start
	return !r.cut && r.groups[0].n == 2 && at >= 2 && letter(text[at-1]) && letter(text[at-2]) && (at == 2 || !letter(text[at-3]) && text[at-3] != '\\')
}

// usual are groups in which people write card numbers, besides those of four.
var usual = [...][4]int{{4, 6, 5}, {4, 6, 4}, {4, 3, 3, 3}, {4, 3, 3, 4}, {6, 13}, {6, 10}, {6, 9}, {4, 12}, {12, 4}, {8, 11}, {4, 4, 8}, {8, 4, 4}, {4, 8, 4}}

// grouped reports whether n digits stand in groups as those of a card do. Where nothing else stands beside them, equal groups of
// any size are such, and any groups of sixteen digits of the common schemes.
func (r *run) grouped(first, last, n int) bool {
	if first == last {
		return true
	}
	all := first == 0 && last == r.ng-1 && !r.cut
	groups := r.groups[first : last+1]
	equal, size := true, groups[0].n
	for i, g := range groups[1:] {
		if g.rare && !all {
			return false
		}
		equal = equal && (g.n == size || i == len(groups)-2 && g.n < size)
	}
	if equal && (size == 4 || size == 8 || all) {
		return true
	}
	if d := r.digits[groups[0].from]; all && n == 16 && (d == 4 || d == 5 || d == 6) {
		return true
	}
	for _, sizes := range usual {
		same := len(groups) <= len(sizes)
		for i := range sizes {
			same = same && (i < len(groups) && groups[i].n == sizes[i] || i >= len(groups) && sizes[i] == 0)
		}
		if same {
			return true
		}
	}
	return false
}

// found reports whether a text holds a card's number, as it is or where %34 in it is a 4, as in addresses.
func found[T ~string | ~[]byte](text T, how syntax) bool {
	if find(text, how) {
		return true
	}
	for i := range len(text) {
		if text[i] == '%' {
			return find(text, how|addressText)
		}
	}
	return false
}

// find reports whether a text holds a card's number.
func find[T ~string | ~[]byte](text T, how syntax) bool {
	for i := 0; i < len(text); {
		if !begins[text[i]] {
			i++
			continue
		}
		kind, _, size := next(text, i, how)
		if kind != isDigit {
			i += size
			continue
		}
		if end := short(text, i, how); end > 0 { // as nearly all are
			i = end
			continue
		}
		end, found := readRun(text, i, how)
		if found {
			return true
		}
		i = end
	}
	return false
}

// readRun reads the run that begins at i. It returns where the run ends, and whether it has a card's number.
func readRun[T ~string | ~[]byte](text T, i int, how syntax) (end int, found bool) {
	var r run
	r.plus = i > 0 && text[i-1] == '+'
	end = read(&r, text, i, how)
	return end, card(&r, text, how)
}

// read reads a run that begins at i, and returns where it ends. It stops early where the run is full and has a card.
func read[T ~string | ~[]byte](r *run, text T, i int, how syntax) int {
	marks := 0
	for i < len(text) {
		kind, digit, size := next(text, i, how)
		switch kind {
		case isDigit:
			if r.apart && r.full() && card(r, text, how) {
				return i
			}
			r.digit(digit, i)
			r.groups[r.ng-1].end = i + size
			marks = 0
		case other:
			return i + size
		default:
			if marks++; marks > mostMarks {
				return i + size
			}
			r.apart, r.rare = true, r.rare || kind == rareMark
		}
		i += size
	}
	return i
}

func inHash[T ~string | ~[]byte](text T, start, end int) bool {
	letters := 0
	for ; start > 0 && hexadecimal(text[start-1]); start-- {
		letters++
	}
	for ; end < len(text) && hexadecimal(text[end]); end++ {
		letters++
	}
	word := start > 0 && letter(text[start-1]) || end < len(text) && letter(text[end])
	return letters > 0 && end-start >= shortestHash && !word
}

// uuid is the length of a UUID as text: 8-4-4-4-12 hexadecimal digits.
const uuid = 36

// inUUID reports whether bytes of a text are within a UUID that has a letter.
func inUUID[T ~string | ~[]byte](text T, start, end int, how syntax) bool {
	for from := start; from >= 0 && start-from < uuid; from-- {
		if from+uuid >= end && from+uuid <= len(text) && isUUID(text, from) &&
			(from == 0 || !hexadecimal(text[from-1])) && !hexadecimalAt(text, from+uuid, how) {
			return true
		}
		if from > 0 && text[from-1] != '-' && !hexadecimal(text[from-1]) {
			break
		}
	}
	return false
}

func isUUID[T ~string | ~[]byte](text T, from int) bool {
	letters := 0
	for i := range uuid {
		c := text[from+i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !hexadecimal(c):
			return false
		case c > '9':
			letters++
		}
	}
	return letters > 0
}

// hexadecimalAt reports whether a hexadecimal digit is at a place of a text, or may be written there as an escape.
func hexadecimalAt[T ~string | ~[]byte](text T, at int, how syntax) bool {
	if at == len(text) {
		return false
	}
	return hexadecimal(text[at]) || text[at] == '\\' && how&jsonText != 0 || text[at] == '%' && how&addressText != 0
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func hexadecimal(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
