package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/api/call"
	appauth "github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/danielgtaylor/huma/v2"
)

type tokenIn struct {
	Body struct {
		APIKey    string `json:"apiKey" maxLength:"200" doc:"Publishable key"`
		SecretKey string `json:"secretKey" maxLength:"200" doc:"Secret key of the same environment"`
	}
}

type tokenOut struct {
	Body struct {
		AccessToken  string                `json:"accessToken"`
		RefreshToken string                `json:"refreshToken"`
		TokenType    string                `json:"tokenType" enum:"Bearer"`
		ExpiresIn    int64                 `json:"expiresIn" doc:"Seconds"`
		Environment  merchants.Environment `json:"environment" enum:"sandbox,production"`
		Merchant     view.Named            `json:"merchant"`
	}
}

type refreshIn struct {
	Body struct {
		RefreshToken string `json:"refreshToken" maxLength:"400"`
	}
}

type refreshOut struct {
	Body struct {
		AccessToken      string                `json:"accessToken"`
		RefreshToken     string                `json:"refreshToken" doc:"The old one stops working"`
		TokenType        string                `json:"tokenType" enum:"Bearer"`
		ExpiresIn        int64                 `json:"expiresIn" doc:"Seconds"`
		RefreshExpiresIn int64                 `json:"refreshExpiresIn" doc:"Seconds"`
		Environment      merchants.Environment `json:"environment" enum:"sandbox,production"`
	}
}

type logoutIn struct {
	Body *struct {
		RefreshToken string `json:"refreshToken,omitempty" maxLength:"400" doc:"Names the login to end; without it, the access token's login ends"`
	}
}

type loggedOut struct {
	Body struct {
		OK bool `json:"ok"`
	}
}

type pingOut struct {
	Body struct {
		OK          bool                  `json:"ok"`
		Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
		KeyKind     merchants.KeyKind     `json:"keyKind" enum:"secret,publishable,restricted"`
		KeyID       string                `json:"keyId" doc:"Masked"`
		APIVersion  string                `json:"apiVersion"`
		Merchant    view.Named            `json:"merchant"`
		Timestamp   view.Time             `json:"timestamp"`
	}
}

func (a *api) routes() {
	call.Handle(a.API, huma.Operation{OperationID: "createToken", Method: http.MethodPost, Path: "/auth/token", Tags: []string{"Authentication"},
		Summary: "Exchange a key pair for tokens"}, call.Open, a.token)
	call.Handle(a.API, huma.Operation{OperationID: "refreshToken", Method: http.MethodPost, Path: "/auth/refresh", Tags: []string{"Authentication"},
		Summary: "Rotate both tokens"}, call.Open, a.refresh)
	call.Handle(a.API, huma.Operation{OperationID: "logout", Method: http.MethodPost, Path: "/auth/logout", Tags: []string{"Authentication"},
		Summary: "End a login", DefaultStatus: http.StatusOK}, call.OrNone, a.logout)
	call.Handle(a.API, huma.Operation{OperationID: "ping", Method: http.MethodGet, Path: "/ping", Tags: []string{"Merchant"},
		Summary: "Check credentials and version", Metadata: map[string]any{call.BrowserKey: true}}, call.AnyKey, a.ping)
}

func (a *api) token(ctx context.Context, caller call.Caller, in *tokenIn) (*tokenOut, error) {
	var t appauth.Tokens
	err := a.Gate.Try(caller.Reply, caller.Request, in.Body.APIKey, func() (err error) {
		t, err = a.uses.Access.Login(ctx, caller.Principal, in.Body.APIKey, in.Body.SecretKey)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &tokenOut{}
	out.Body.AccessToken, out.Body.RefreshToken, out.Body.TokenType = t.Access, t.Refresh, "Bearer"
	out.Body.ExpiresIn, out.Body.Environment = seconds(t.AccessTTL), t.Environment
	out.Body.Merchant = view.Named{ID: t.Merchant.ID, Name: t.Merchant.Name}
	return out, nil
}

func (a *api) refresh(ctx context.Context, caller call.Caller, in *refreshIn) (*refreshOut, error) {
	t, err := a.uses.Access.Refresh(ctx, caller.Principal, in.Body.RefreshToken)
	if err != nil {
		return nil, a.Gate.Refuse(caller.Reply, caller.Request, err)
	}
	out := &refreshOut{}
	out.Body.AccessToken, out.Body.RefreshToken, out.Body.TokenType = t.Access, t.Refresh, "Bearer"
	out.Body.ExpiresIn, out.Body.RefreshExpiresIn, out.Body.Environment = seconds(t.AccessTTL), seconds(t.RefreshTTL), t.Environment
	return out, nil
}

func (a *api) logout(ctx context.Context, caller call.Caller, in *logoutIn) (*loggedOut, error) {
	var err error
	if in.Body != nil && in.Body.RefreshToken != "" {
		err = a.Gate.Refuse(caller.Reply, caller.Request, a.uses.Access.LogoutRefresh(ctx, caller.Principal, in.Body.RefreshToken))
	} else if err = caller.Refusal; err == nil {
		err = a.uses.Access.Logout(ctx, caller.Principal)
	}
	if err != nil {
		return nil, err
	}
	out := &loggedOut{}
	out.Body.OK = true
	return out, nil
}

func (a *api) ping(ctx context.Context, caller call.Caller, _ *struct{}) (*pingOut, error) {
	merchant, _, err := a.uses.Tenant(ctx, caller.Principal)
	if err != nil {
		return nil, err
	}
	out := &pingOut{}
	out.Body.OK, out.Body.Environment, out.Body.KeyKind, out.Body.KeyID = true, caller.Environment(), caller.Kind, caller.Preview
	out.Body.APIVersion, out.Body.Timestamp = view.APIVersion, view.Time{Time: a.uses.Now()}
	out.Body.Merchant = view.Named{ID: merchant.ID, Name: merchant.Name}
	return out, nil
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
