package adyen

import (
	"encoding/base64"
	"maps"
	"slices"

	"github.com/cascadapay/cascada/internal/provider/providertest/published"
)

// court is a dispute at Adyen, with the documents that it has by their type.
type court struct {
	reasons []object          // as Adyen lists them, with "available" as it is now
	has     map[string]string // type -> media and content
	said    string            // the sentence with which the next calls but reads are refused, "" for none
	answer  string            // the reason with which it was defended
	answers int
}

func newCourt(reasons ...object) *court { return &court{reasons: reasons, has: map[string]string{}} }

// reason is a defense reason with types of documents: "Required:TIDorInvoice".
func reason(code string, types ...[2]string) object {
	list := []object{}
	for _, t := range types {
		list = append(list, object{"requirementLevel": t[0], "defenseDocumentTypeCode": t[1]})
	}
	return object{"defenseReasonCode": code, "defenseDocumentTypes": list}
}

// shown are the reasons with what is there now.
func (c *court) shown() []object {
	list := []object{}
	for _, r := range c.reasons {
		satisfied, some, one := true, false, false
		types := []object{}
		for _, t := range r["defenseDocumentTypes"].([]object) {
			_, there := c.has[t["defenseDocumentTypeCode"].(string)]
			shown := maps.Clone(t)
			shown["available"] = there
			types = append(types, shown)
			switch t["requirementLevel"] {
			case "Required":
				satisfied = satisfied && there
			case "OneOrMore":
				some, one = true, one || there
			}
		}
		list = append(list, object{"defenseReasonCode": r["defenseReasonCode"], "satisfied": satisfied && (!some || one), "defenseDocumentTypes": types})
	}
	return list
}

func success() object { return object{"disputeServiceResult": object{"success": true}} }

func no(sentence string) (int, any) {
	return 200, object{"disputeServiceResult": object{"success": false, "errorMessage": sentence}}
}

// ofDispute answers a call of the Disputes API.
func (f *fake) ofDispute(call string, body object) (int, any) {
	if f.forbids {
		return fail(403, "010", "security")
	}
	if body["merchantAccountCode"] != merchant {
		return fail(403, "901", "security")
	}
	c := f.court
	if id, _ := body["disputePspReference"].(string); c == nil || id != "D1" {
		return fail(422, "167", "validation")
	}
	if call == "retrieveApplicableDefenseReasons" {
		answer := success()
		answer["defenseReasons"] = c.shown()
		return 200, answer
	}
	switch {
	case c.said != "":
		return no(c.said)
	case c.answer != "":
		return no("Dispute already defended.")
	}
	switch call {
	case "deleteDisputeDefenseDocument":
		delete(c.has, body["defenseDocumentType"].(string))
	case "supplyDefenseDocument":
		return c.take(body["defenseDocuments"].([]any))
	case "defendDispute":
		code := body["defenseReasonCode"]
		if !slices.ContainsFunc(c.shown(), func(r object) bool { return r["defenseReasonCode"] == code && r["satisfied"] == true }) {
			return no("Invalid defense reason")
		}
		c.answer, c.answers = code.(string), c.answers+1
	}
	return 200, success()
}

// take stores documents, unless their place is taken, or they are of a type or size that Adyen does not take.
func (c *court) take(documents []any) (int, any) {
	for _, d := range documents {
		d := d.(object)
		code, media := d["defenseDocumentTypeCode"].(string), d["contentType"].(string)
		content, err := base64.StdEncoding.DecodeString(d["content"].(string))
		most := map[string]int{"application/pdf": 2 << 20, "image/jpeg": 10 << 20, "image/tiff": 10 << 20}[media]
		if _, taken := c.has[code]; taken || err != nil || len(content) > most {
			return no("Failed to store defense documents")
		}
		c.has[code] = media + " " + string(content)
	}
	return 200, success()
}

// disputeCalls are those of DisputeService-v30.
func disputeCalls() (list []published.Call) {
	said := published.Object(published.Fields{"success": published.Boolean().Must(), "errorMessage": text})
	for name, more := range map[string]published.Fields{
		"retrieveApplicableDefenseReasons": {},
		"supplyDefenseDocument": {"defenseDocuments": published.List(published.Object(published.Fields{
			"content": text.Match(`[A-Za-z0-9+/]+=*`).Must(), "contentType": text.Must(), "defenseDocumentTypeCode": text.Must(),
		})).Must()},
		"defendDispute":                {"defenseReasonCode": text.Must()},
		"deleteDisputeDefenseDocument": {"defenseDocumentType": text.Must()},
	} {
		more["merchantAccountCode"], more["disputePspReference"] = text.Must(), text.Must()
		answer := published.Fields{"disputeServiceResult": said.Must()}
		if name == "retrieveApplicableDefenseReasons" {
			answer["defenseReasons"] = published.List(published.Object(published.Fields{
				"defenseReasonCode": text.Must(), "satisfied": published.Boolean().Must(),
				"defenseDocumentTypes": published.List(published.Object(published.Fields{
					"available": published.Boolean().Must(), "defenseDocumentTypeCode": text.Must(),
					"requirementLevel": published.Enum("Required", "OneOrMore", "Optional", "AlternativeRequired").Must(),
				})),
			}))
		}
		list = append(list, published.Call{
			Name: name, Method: "POST", Path: "/" + name, Header: credential, Body: published.Object(more), Answers: answers(200, published.Object(answer)),
		})
	}
	return list
}
