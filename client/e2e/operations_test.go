package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/client"
)

// left lists the parts of the API that the client leaves out on purpose, each with the
// reason: parameters as "operation parameter" and properties of replies as
// "Schema.property". Deprecated operations are older names of other operations.
var left = map[string]string{
	"createCheckoutSession Sandbox-Simulate":   oneShot,
	"createCheckoutSession documentId":         oneShot,
	"createCheckoutSession expand":             oneShot,
	"createCheckoutSession hostedCheckout":     oneShot,
	"createCheckoutSession paymentMethod":      oneShot,
	"createCheckoutSession paymentMethodId":    oneShot,
	"createCheckoutSession userEmail":          oneShot,
	"createCheckoutSession userIp":             oneShot,
	"createCheckoutSession userName":           oneShot,
	"createCheckoutSession userPhone":          oneShot,
	"CreatedCheckoutSession.amountLocal":       oneShot,
	"CreatedCheckoutSession.currencyLocal":     oneShot,
	"CreatedCheckoutSession.fxRate":            oneShot,
	"CreatedCheckoutSession.paymentData":       oneShot,
	"CreatedCheckoutSession.paymentMethodId":   oneShot,
	"CreatedCheckoutSession.transactionStatus": oneShot,

	"CreatedPayment.transactionId": "Payment.ID",
	"PaymentMethods.filters":       "the caller's own",
	"ErrorDetails.proposalId":      "the admin API's",
}

const oneShot = "CreatePayment with HostedCheckout is this mode"

// document is the part of OpenAPI that is compared.
type document struct {
	Paths      map[string]map[string]*operation
	Webhooks   map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	ID         string `json:"operationId"`
	Deprecated bool
	Parameters []struct { // Service-Version and strict, which are references, have no name here
		In, Name   string
		Deprecated bool // an older name of another operation
	}
	Body      content `json:"requestBody"`
	Responses map[string]content

	sent map[string]bool // what the client has sent: query, headers and body; nil before the first request
}

type content struct {
	Content map[string]struct{ Schema *schema }
}

type schema struct {
	Ref        string `json:"$ref"`
	Properties map[string]*schema
	Items      *schema
}

// published returns the document of a running service.
func published(t *testing.T) document {
	t.Helper()
	s, _ := service(t, nil)
	reply, err := http.Get(s.URL + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var d document
	if err := json.NewDecoder(reply.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Each method of the client is called, with all its parameters, on a server made
// from the service's own document. Then each operation must have been reached,
// each of its parameters sent, and each property of its replies and errors must have a
// field.
func TestTheClientHasTheWholeAPI(t *testing.T) {
	d, mux := published(t), http.NewServeMux()
	var last *operation // the last one that a request reached
	for path, methods := range d.Paths {
		for method, op := range methods {
			mux.HandleFunc(strings.ToUpper(method)+" /api/v1"+path, func(w http.ResponseWriter, r *http.Request) {
				last = op
				if err := op.note(r); err != nil {
					t.Errorf("the request to %s: %v", op.ID, err)
				}
				// This token ends at once, so that it is refreshed too.
				_, _ = io.WriteString(w, `{"accessToken":"a","refreshToken":"r","expiresIn":0,"id":"1","type":"1"}`)
			})
		}
	}
	api := reflect.ValueOf(newClient(t, client.Config{
		URL: "http://document.example", PublishableKey: "pk", SecretKey: "sk", ShopID: "shp", HTTP: &http.Client{Transport: inProcess{mux}},
	}))
	missing := map[string]bool{}
	for method, fn := range api.Methods() {
		if err := call(t.Context(), fn); err != nil {
			t.Errorf("%s: %v", method.Name, err)
			continue
		}
		if reply := fn.Type().Out(0); reply.Kind() == reflect.Struct {
			d.unread(last.reply(), reply, "", missing)
		}
	}
	d.unread(d.Components.Schemas["Problem"], reflect.TypeFor[client.Error](), "Problem", missing)
	for _, methods := range d.Paths {
		for _, op := range methods {
			d.unsent(op, missing)
		}
	}
	for what := range missing {
		if left[what] == "" {
			t.Errorf("the client has no %s", what)
		}
	}
	for what := range left {
		if !missing[what] {
			t.Errorf("%s is listed as left out, but is not", what)
		}
	}
}

// inProcess answers requests without a network.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	reply := httptest.NewRecorder()
	p.handler.ServeHTTP(reply, r)
	return reply.Result(), nil
}

// call calls a method with all its parameters, and iterates over its list.
func call(ctx context.Context, method reflect.Value) error {
	var arguments []reflect.Value
	for in := range method.Type().Ins() {
		argument := reflect.New(in).Elem()
		switch in {
		case reflect.TypeFor[context.Context]():
			argument.Set(reflect.ValueOf(ctx))
		case reflect.TypeFor[io.Writer]():
			argument.Set(reflect.ValueOf(io.Discard))
		case reflect.TypeFor[client.ReportFormat]():
			argument.SetString(string(client.ReportCSVComma)) // it has both parameters
		default:
			fill(argument)
		}
		arguments = append(arguments, argument)
	}
	results := method.Call(arguments)
	last := results[len(results)-1]
	if last.Kind() == reflect.Func {
		for _, failed := range last.Seq2() {
			last = failed
		}
	}
	err, _ := last.Interface().(error)
	return err
}

// fill sets a value and everything in it to something that is sent.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("1")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	default:
		panic("fill knows no " + v.Type().String())
	}
}

// note records what a request sends.
func (op *operation) note(r *http.Request) error {
	if op.sent == nil {
		op.sent = map[string]bool{}
	}
	for name := range r.URL.Query() {
		op.sent[name] = true
	}
	for name := range r.Header {
		op.sent[name] = true
	}
	if r.Body == nil {
		return nil
	}
	var body any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return err
	}
	flatten(body, "", op.sent)
	return nil
}

// flatten adds the names of an object's properties to names, and those of nested
// objects, such as customer.email.
func flatten(body any, prefix string, names map[string]bool) {
	object, _ := body.(map[string]any)
	for name, value := range object {
		names[prefix+name] = true
		flatten(value, prefix+name+".", names)
	}
}

// unsent adds to missing the parts of an operation that the client has not sent.
func (d document) unsent(op *operation, missing map[string]bool) {
	if op.sent == nil {
		if !op.Deprecated { // an older name of another operation
			missing[op.ID] = true
		}
		return
	}
	for _, p := range op.Parameters {
		if p.In != "path" && p.Name != "" && !p.Deprecated && !op.sent[p.Name] {
			missing[op.ID+" "+p.Name] = true
		}
	}
	var body func(s *schema, prefix string)
	body = func(s *schema, prefix string) {
		s, _ = d.resolve(s)
		for name, property := range s.Properties {
			if !op.sent[prefix+name] {
				missing[op.ID+" "+prefix+name] = true
				continue
			}
			body(property, prefix+name+".")
		}
	}
	body(op.Body.Content["application/json"].Schema, "")
}

// reply returns the schema of a successful call, nil if that is not JSON.
func (op *operation) reply() *schema {
	for status, c := range op.Responses {
		if strings.HasPrefix(status, "2") {
			return c.Content["application/json"].Schema
		}
	}
	return nil
}

// unread adds to missing each property of a schema that has no field in a type.
func (d document) unread(s *schema, in reflect.Type, name string, missing map[string]bool) {
	s, named := d.resolve(s)
	if named != "" {
		name = named
	}
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice && s.Items != nil {
		if in.Kind() == reflect.Slice {
			s, name = d.resolve(s.Items)
		}
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct {
		return
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(in) {
		property, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[property] = f.Type
	}
	for property, of := range s.Properties {
		if fields[property] == nil {
			missing[name+"."+property] = true
			continue
		}
		d.unread(of, fields[property], name+"."+property, missing)
	}
}

// resolve follows a reference and returns its name. No schema is an empty one.
func (d document) resolve(s *schema) (*schema, string) {
	if s == nil {
		return &schema{}, ""
	}
	if s.Ref == "" {
		return s, ""
	}
	name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	return d.Components.Schemas[name], name
}
