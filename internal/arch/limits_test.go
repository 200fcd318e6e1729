package arch

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/pay/routing/rulefile"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// What is no text of people's has room enough for any that can be right: the use case reads it.
const (
	anID       = 40 // of an object of the API, a method, a shop
	adminID    = 64 // of anything, in the operators' API and forms; base.MaxKeptID
	anAmount   = 40 // a number as it was typed
	anAmountUS = 20
	aCurrency  = 3
	aTime      = 40 // of RFC 3339
	aToken     = 5  // a currency, or a token such as USDT
	aCredit    = 10 // likewise, to come
	aWord      = 40 // one of a list, or a duration
	aCode      = 20 // of a second factor, or a recovery code
	aKey       = 200
	aRow       = 300 // the id of any row, also one of a provider's notification
	aList      = 50
	aRailsList = 500
)

// limits are the limits that tags of the APIs and forms of pages state, by "Type.field what" and "page field": what they must be.
// A tag and a template cannot name a constant, so they are compared with it. Each limit of a text that people write is a
// constant in the core, and the use case checks it.
var limits = map[string]int{
	// Of the operators' API.
	"AccountPath.id maxLength": adminID, "OpenBody.id maxLength": adminID, "OpenBody.adapter maxLength": adminID, "OpenBody.merchantId maxLength": adminID,
	"adjustmentIn.id maxLength": adminID, "adjustmentsIn.merchantId maxLength": adminID, "AdjustmentOrder.merchantId maxLength": adminID,
	"reverseAdjustmentIn.id maxLength": adminID, "rejectAdjustmentIn.id maxLength": adminID, "MerchantPath.id maxLength": adminID, "paymentIn.id maxLength": adminID,
	"resolvePaymentIn.id maxLength": adminID, "resolveWithdrawalIn.id maxLength": adminID, "resolveClaimIn.id maxLength": adminID, "carryEvidenceIn.id maxLength": adminID,
	"bookRefundIn.id maxLength": adminID,
	"OpenBody.rails maxItems":   aRailsList, "OpenBody.terms maxItems": aRailsList, "ChangeBody.rails maxItems": aRailsList, "ChangeBody.terms maxItems": aRailsList,
	"OpenBody.baseUrl maxLength": accounts.MaxBaseURL, "Terms.rail maxLength": 100, "Terms.price maxLength": anAmount, "Terms.limits maxItems": aList, "TermsBody.installments maxItems": installment.MostGrants,
	"Score.successRate minimum": 0, "Score.successRate maximum": 1,
	"AdjustmentOrder.amount maxLength": anAmountUS, "WithdrawalResolution.amount maxLength": anAmount, "RefundBooking.amount maxLength": anAmount, "ClaimResolution.keep maxLength": anAmountUS,
	"AdjustmentOrder.note maxLength": pay.MaxNote, "AdjustmentReversal.note maxLength": pay.MaxNote, "AdjustmentRejection.note maxLength": pay.MaxNote,
	"PaymentResolution.note maxLength": pay.MaxNote, "WithdrawalResolution.note maxLength": pay.MaxNote, "ClaimResolution.note maxLength": pay.MaxNote,
	"CarriedEvidence.note maxLength": pay.MaxNote, "RefundBooking.note maxLength": pay.MaxNote,
	"AdjustmentOrder.about maxLength": pay.MaxAbout, "AdjustmentOrder.reference maxLength": pay.MaxReference, "WithdrawalResolution.reference maxLength": pay.MaxReference,
	"ClaimResolution.byHand maxLength": pay.MaxReference, "RefundBooking.reference maxLength": pay.MaxRefundReference, "PauseBody.reason maxLength": merchants.MostReason, "CloseBody.reason maxLength": merchants.MostReason, "TermsBody.reason maxLength": merchants.MostReason, "TermsBody.trustScore minimum": 0, "TermsBody.trustScore maximum": merchants.MostScore,
	"PlanGiven.name maxLength": plans.LongestPlanName, "PlanPath.name maxLength": plans.LongestPlanName, "PlanBody.currency maxLength": 3, "ReplayPlanBody.merchantIds maxItems": 100,

	"BatchBody.account maxLength": adminID, "BatchPath.id maxLength": adminID, "BrandBody.color maxLength": len("#000000"), "BrandBody.frames maxItems": 10,
	"BrandBody.logo maxLength": 32 << 10, "ClaimPath.id maxLength": adminID, "ClosedNotification.note maxLength": pay.MaxNote, "ContactBody.email maxLength": pay.MaxEmail,
	"EvidenceQuestion.note maxLength": pay.MaxNote, "FloatBody.account maxLength": adminID, "FloatBody.amount maxLength": anAmountUS,
	"FloatBody.currency maxLength": aCurrency, "FloatBody.note maxLength": pay.MaxNote, "FloatBody.reference maxLength": pay.MaxReference, "HeadsBody.lines maxItems": 500,
	"InvitationBody.email maxLength": pay.MaxEmail, "InvitationBody.merchantId maxLength": adminID, "InvitationPath.id maxLength": adminID, "KeyPath.id maxLength": adminID,
	"LimitsBody.approvalAbove maxLength": anAmountUS, "LimitsBody.daily maxLength": anAmountUS, "LimitsBody.days maxLength": aWord,
	"LimitsBody.hourly maxLength": anAmountUS, "LimitsBody.minimum maxLength": anAmountUS, "LimitsPath.merchantId maxLength": adminID, "NewKeyBody.rights maxItems": aList,
	"NewKeyBody.shopId maxLength": adminID, "NewMerchantBody.email maxLength": pay.MaxEmail, "NewMerchantBody.industry maxLength": merchants.MaxIndustry,
	"NewMerchantBody.name maxLength": merchants.MaxName, "NewOperatorBody.name maxLength": adminID, "NewOperatorBody.person maxLength": adminID,
	"NewShopBody.name maxLength": merchants.MaxShopName, "NotificationPath.id maxLength": aRow, "OperatorPath.name maxLength": adminID,
	"PageQuery.limit maximum": lists.MostPageRows, "PageQuery.limit minimum": 1, "PageQuery.startingAfter maxLength": aRow, "ProposalPath.id maxLength": adminID,
	"ProposalRejection.note maxLength": pay.MaxNote, "RateBody.rate maxLength": anAmount, "RateBody.source maxLength": rates.MaxSource,
	"RatePath.currency maxLength": aCurrency, "RatesFile.content maxLength": 200_000, "RatesFile.source maxLength": rates.MaxSource,
	"ReplayRoutingBody.examples maximum": 50, "ReplayRoutingBody.examples minimum": 0, "ReplayRoutingBody.file maxLength": rulefile.MaxSize,
	"ReplayRoutingBody.rail maxLength": 100, "ReportFile.name maxLength": 200, "ReportFormat.currency maxLength": aCurrency, "ReportFormat.dateFormat maxLength": aWord,
	"ReportFormat.paid maxItems": aList, "ReportFormat.zone maxLength": aWord, "ReportsBody.reports maxItems": aList, "RevokeKeyBody.key maxLength": aKey,
	"RevokeLoginsBody.keyId maxLength": adminID, "RevokeLoginsBody.loginId maxLength": adminID, "RevokeLoginsBody.merchantId maxLength": adminID,
	"RevokeLoginsBody.reason maxLength": merchants.MostReason, "RotateKeyBody.grace maxLength": aWord, "RulesBody.file maxLength": rulefile.MaxSize,
	"SettlementPath.id maxLength": adminID, "SettlementPayment.amount maxLength": anAmountUS, "SettlementPayment.note maxLength": pay.MaxNote,
	"SettlementPayment.reference maxLength": pay.MaxReference, "SettlementPayment.walletId maxLength": adminID, "ShopBody.name maxLength": merchants.MaxShopName,
	"ShopBody.schemes maxItems": merchants.MaxSchemes, "ShopPath.id maxLength": adminID, "ShopperFields.document maxLength": 100,
	"ShopperFields.email maxLength": pay.MaxEmail, "ShopperFields.merchantId maxLength": adminID, "ShopperFields.phone maxLength": 100,
	"ShopperFields.transactionId maxLength": adminID, "StopBody.reason maxLength": pay.MaxStopReason, "TeamQuery.merchantId maxLength": adminID,
	"UserPath.id maxLength": adminID, "UserRoleBody.merchantId maxLength": adminID, "VerificationDecision.code maxLength": adminID,
	"VerificationDecision.message maxLength": merchants.MaxRejection, "VerificationPath.id maxLength": adminID, "WithdrawalApproval.note maxLength": pay.MaxNote,
	"WithdrawalPath.id maxLength": adminID, "auditIn.action maxLength": adminID, "auditIn.merchantId maxLength": adminID, "auditIn.object maxLength": aRow,
	"batchesIn.account maxLength": adminID, "claimsIn.transactionId maxLength": adminID, "comparisonsIn.account maxLength": adminID,
	"merchantsIn.text maxLength": merchants.MaxName, "notificationsIn.transactionId maxLength": adminID, "removeUserIn.merchantId maxLength": adminID,
	"settlementsIn.merchantId maxLength": adminID, "storyIn.id maxLength": adminID, "verificationsIn.merchantId maxLength": adminID,

	// Of the merchants' API.
	"tokenIn.apiKey maxLength": aKey, "tokenIn.secretKey maxLength": aKey, "refreshIn.refreshToken maxLength": 2 * aKey, "logoutIn.refreshToken maxLength": 2 * aKey,
	"moveClockIn.advance maxLength": aWord, "replaySpanIn.types maxItems": aList, "subscribeIn.events maxItems": aList, "editIn.events maxItems": aList,
	"EvidenceBody.kind maxLength": evidence.MaxKind, "EvidenceBody.text maxLength": evidence.MaxText, "EvidenceUpload.name maxLength": evidence.MaxFileName,
	"InstallmentsBody.max minimum": 1, "InstallmentsBody.max maximum": installment.Most, "InstallmentsBody.interestFree minimum": 0, "InstallmentsBody.interestFree maximum": installment.Most,
	"startKYCIn.returnUrl maxLength": pay.MaxURL, "PaymentBody.returnUrl maxLength": pay.MaxURL, "subscribeIn.url maxLength": sender.MaxURL, "editIn.url maxLength": sender.MaxURL,
	"LinkBody.currency maxLength": aCurrency, "LinkBody.merchantOrderId maxLength": pay.MaxOrderID, "LinkBody.returnUrl maxLength": pay.MaxURL, "LinkBody.uses minimum": 1, "LinkBody.uses maximum": pay.MaxLinkUses,
	"LinkBody.expiresAt maxLength": aTime, "changeLinkIn.expiresAt maxLength": aTime, "LinkBody.merchantId maxLength": anID, "LinkBody.shopId maxLength": anID,
	"PaymentBody.currency maxLength": aCurrency, "RefundBody.currency maxLength": aCurrency, "withdrawIn.currency maxLength": aToken, "quoteIn.currency maxLength": aToken,
	"PaymentBody.paymentMethodId maxLength": anID, "PaymentBody.paymentMethod maxLength": anID, "PaymentBody.merchantId maxLength": anID, "PaymentBody.shopId maxLength": anID,
	"SelectBody.paymentMethodId maxLength": anID, "withdrawIn.walletId maxLength": anID, "quoteIn.walletId maxLength": anID, "quoteIn.amount maxLength": anAmount,
	"PaymentBody.userEmail maxLength": pay.MaxEmail, "PaymentBody.userName maxLength": pay.MaxBuyerName, "PaymentBody.userPhone maxLength": pay.MaxPhone,
	"PaymentBody.userIp maxLength": pay.MaxIP, "PaymentBody.documentId maxLength": pay.MaxDocument, "PaymentBody.merchantOrderId maxLength": pay.MaxOrderID,
	"PaymentBody.expand maxItems": 10, "PurchaseBody.description maxLength": pay.MaxDescription, "PurchaseBody.lineItems maxItems": pay.MaxItems,
	"LineItemBody.name maxLength": pay.MaxItemName, "LineItemBody.sku maxLength": pay.MaxSKU, "RefundBody.reason maxLength": pay.MaxRefundReason,
	"addWalletIn.label maxLength": pay.MaxWalletLabel, "addWalletIn.type maxLength": aWord, "addWalletIn.network maxLength": aWord, "addWalletIn.currency maxLength": aCredit,
	"addWalletIn.destination maxLength": pay.MaxDestination, "addWalletIn.holderName maxLength": pay.MaxHolderName, "addWalletIn.holderEmail maxLength": pay.MaxEmail,
	// With punctuation, which is taken away.
	"addWalletIn.holderDocument maxLength": 2 * pay.MaxHolderDocument, "addWalletIn.bankCode maxLength": 2 * pay.MaxBankCode, "addWalletIn.branchCode maxLength": 2 * pay.MaxBranchCode,
	"addWalletIn.bankCountry maxLength": aCurrency, "subscribeIn.description maxLength": webhooks.MaxDescription, "editIn.description maxLength": webhooks.MaxDescription,

	// Of pages.
	"selector.html document-{{.ID}}": pay.MaxDocument,
	"newwallet.html destination":     pay.MaxDestination, "newwallet.html currency": aCurrency, "newwallet.html label": pay.MaxWalletLabel, "newwallet.html holderName": pay.MaxHolderName,
	"newwallet.html holderDocument": pay.MaxHolderDocument, "newwallet.html holderEmail": pay.MaxEmail, "newwallet.html bankCode": pay.MaxBankCode,
	"newwallet.html branchCode": pay.MaxBranchCode, "newwallet.html code": aCode,
	"webhookform.html authentication.username": sender.LongestCredential, "webhookform.html authentication.password": sender.LongestCredential,
	"webhookform.html authentication.header": sender.LongestCredential, "webhookform.html authentication.value": sender.LongestValue,
	"webhookform.html url": sender.MaxURL, "webhookform.html description": webhooks.MaxDescription, "sandbox.html advance": aWord, "sandbox.html confirm": aKey,
	"link.html description": pay.MaxDescription, "link.html order": pay.MaxOrderID, "link.html name": people.MaxName, "profile.html name": people.MaxName,
	"app.html code": aCredit, "_code.html code": aCode, "passkey.html name": people.MaxPasskeyName, "answer.html text": evidence.MaxText,
	"invite.html email": pay.MaxEmail, "settings.html email": pay.MaxEmail, "newshop.html name": merchants.MaxShopName, "settings.html name": merchants.MaxShopName, "brand.html color": len("#000000"),
	"newmerchant.html name": merchants.MaxName, "merchant.html installments": installment.MaxGrants, "merchant.html closing": merchants.MostReason, "_parts.html reason": merchants.MostReason, "verification.html message": merchants.MaxRejection,
	"operators.html name": operators.MaxName, "proposal.html note": pay.MaxNote,
	"_adjustments.html note": pay.MaxNote, "adjustment.html note": pay.MaxNote, "_ruling.html note": pay.MaxNote, "claim.html note": pay.MaxNote, "withdrawal.html note": pay.MaxNote, "floats.html note": pay.MaxNote,
	"claim.html keep": anAmountUS, "claim.html byHand": pay.MaxReference, "withdrawal.html reference": pay.MaxReference,
	"newadjustment.html merchant": adminID, "newadjustment.html amount": anAmountUS, "newadjustment.html about": pay.MaxAbout, "newadjustment.html reference": pay.MaxReference,
	"floats.html currency": aCurrency, "limits.html reason": pay.MaxStopReason, "new.html id": adminID, "rate.html source": rates.MaxSource,
}

var (
	partLimit  = regexp.MustCompile(`"name" "([^"]+)"[^\n]*?"maxlength" (\d+)`)
	inputLimit = regexp.MustCompile(`<(?:input|textarea)[^\n]*? name="([^"]+)"[^\n]*? maxlength="(\d+)"`)
)

// A limit is stated once. What tags and forms say is what the core has, and one that is missing in the table fails.
func TestLimitsAreTheCores(t *testing.T) {
	used := map[string]bool{}
	compare := func(at, key, text string) {
		n, err := strconv.Atoi(text)
		want, known := limits[key]
		switch used[key] = true; {
		case err != nil || !known:
			t.Errorf("%s: the table of limits has no %q (%s): state it in the core, check it in the use case, and name the constant in the table", at, key, text)
		case n != want:
			t.Errorf("%s: %s is %d, and the core has %d", at, key, n, want)
		}
	}
	for _, s := range sources(t, false) {
		if !strings.HasPrefix(s.dir, "internal/api") && !strings.HasPrefix(s.dir, "internal/admin") {
			continue
		}
		for _, decl := range s.file.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				ast.Inspect(spec.Type, func(n ast.Node) bool {
					field, ok := n.(*ast.Field)
					if !ok || field.Tag == nil {
						return true
					}
					text, err := strconv.Unquote(field.Tag.Value)
					if err != nil {
						t.Fatal(err)
					}
					tag := reflect.StructTag(text)
					name := ""
					for _, where := range []string{"json", "query", "path", "header"} {
						if says, has := tag.Lookup(where); has {
							name, _, _ = strings.Cut(says, ",")
						}
					}
					for _, what := range []string{"maxLength", "maxItems", "minimum", "maximum"} {
						if says, has := tag.Lookup(what); has {
							compare(s.at(field), spec.Name.Name+"."+name+" "+what, says)
						}
					}
					return true
				})
				return false
			})
		}
	}
	walk(t, func(file string) error {
		if path.Ext(file) != ".html" || !strings.Contains(file, "/templates/") {
			return nil
		}
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			return err
		}
		found := 0
		for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "{{part", "\n{{part"), "\n") {
			for _, form := range []*regexp.Regexp{partLimit, inputLimit} {
				for _, limit := range form.FindAllStringSubmatch(line, -1) {
					found++
					compare(file, path.Base(file)+" "+limit[1], limit[2])
				}
			}
		}
		if says := strings.Count(string(text), "maxlength") - strings.Count(string(text), `maxlength="{{.}}"`); !strings.Contains(file, "/frame/") && says != found {
			t.Errorf("%s has %d limits of fields, and the test finds %d", file, says, found)
		}
		return nil
	})
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		if !used[key] {
			t.Errorf("the table of limits has %q, and nothing has that limit", key)
		}
	}
}
