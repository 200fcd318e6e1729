// Package admin is a client of the admin API of Cascada, for operators' programs.
//
//	api, err := admin.NewClientWithResponses("http://127.0.0.1:9465/admin/v1", admin.WithRequestEditorFn(
//		func(_ context.Context, r *http.Request) error {
//			r.Header.Set("Authorization", "Bearer "+token) // of cascada operator add
//			return nil
//		}))
//	made, err := api.CreateMerchantWithResponse(ctx, &admin.CreateMerchantParams{IdempotencyKey: &key},
//		admin.NewMerchantBody{Name: "Acme", Email: "ops@acme.example"})
//	// made.JSON201 is the reply, or made.JSONDefault says why it was refused.
//
// admin.go is generated from the document that the service serves: make client.
package admin
