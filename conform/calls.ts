// The calls of the adapters, with the types that the provider's own library has for what is sent and what is answered.
// {id} is any part of a path. A query that is a function has its parameters.
import type * as Adyen from '@adyen/api-library/lib/src/typings/checkout/models.js';
import type * as Disputes from '@adyen/api-library/lib/src/typings/disputes/models.js';
import type { Notification } from '@adyen/api-library/lib/src/typings/notification/models.js';
import type * as Conekta from 'conekta';
import type { PaymentCreateRequest } from 'mercadopago/dist/clients/payment/create/types.js';
import type { PaymentResponse } from 'mercadopago/dist/clients/payment/commonTypes.js';
import type { PaymentSearchOptions, PaymentSearch } from 'mercadopago/dist/clients/payment/search/types.js';
import type { CreateRefundBody } from 'mercadopago/dist/clients/paymentRefund/create/types.js';
import type { RefundResponse } from 'mercadopago/dist/clients/paymentRefund/commonTypes.js';
import type { PaymentMethodResponse } from 'mercadopago/dist/clients/paymentMethod/get/types.js';
import type { PreferenceRequest, PreferenceResponse } from 'mercadopago/dist/clients/preference/commonTypes.js';
import type { PreferenceSearchOptions, PreferenceSearchResponse } from 'mercadopago/dist/clients/preference/search/types.js';
import type { ChargebackResponse } from 'mercadopago/dist/clients/chargeback/commonTypes.js';
import type { ChargebackSearchOptions, ChargebackSearchResponse } from 'mercadopago/dist/clients/chargeback/search/types.js';
import type { Stripe } from 'stripe';
import type woovi_sdk from '@woovi/node-sdk';

type List<T> = Pick<Stripe.ApiList<T>, 'object' | 'data' | 'has_more' | 'url'>;
type V2List<T> = { data: T[]; next_page_url: string | null; previous_page_url: string | null };
type OrdersApi = ReturnType<typeof Conekta.OrdersApiAxiosParamCreator>;
type ChargesApi = ReturnType<typeof Conekta.ChargesApiAxiosParamCreator>;
type Woovi = ReturnType<typeof woovi_sdk.default.createClient>;
type Sent<F extends (...args: never[]) => unknown, Left extends string = never> = Without<Parameters<F>[0], Left>;
type Without<T, Left extends string> = T extends unknown ? Omit<T, Left> : never; // of each of a union
type Said<F extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<F>>;
type Pages = Partial<NonNullable<Parameters<Woovi['charge']['list']>[0]>>;
type Listed = Required<NonNullable<Parameters<Woovi['transactions']['list']>[0]>>;
type V2 = Stripe.V2.MoneyManagement.OutboundPayment;

export interface adyen {
  'POST /payments': { body: Adyen.PaymentRequest; answer: Adyen.PaymentResponse };
  'POST /payments/{id}/refunds': { body: Adyen.PaymentRefundRequest; answer: Adyen.PaymentRefundResponse };
  'POST /paymentLinks': { body: Adyen.PaymentLinkRequest; answer: Adyen.PaymentLinkResponse };
  'GET /paymentLinks/{id}': { answer: Adyen.PaymentLinkResponse };
  'PATCH /paymentLinks/{id}': { body: Adyen.UpdatePaymentLinkRequest; answer: Adyen.PaymentLinkResponse };
  'POST /paymentMethods': { body: Adyen.PaymentMethodsRequest; answer: Adyen.PaymentMethodsResponse };
  'POST /retrieveApplicableDefenseReasons': { body: Disputes.DefenseReasonsRequest; answer: Disputes.DefenseReasonsResponse };
  'POST /supplyDefenseDocument': { body: Disputes.SupplyDefenseDocumentRequest; answer: Disputes.SupplyDefenseDocumentResponse };
  'POST /deleteDisputeDefenseDocument': { body: Disputes.DeleteDefenseDocumentRequest; answer: Disputes.DeleteDefenseDocumentResponse };
  'POST /defendDispute': { body: Disputes.DefendDisputeRequest; answer: Disputes.DefendDisputeResponse };
  notice: { body: Notification };
}

export interface conekta {
  'POST /orders': { body: Conekta.OrderRequest; answer: Conekta.OrderResponse };
  'GET /orders': { query: OrdersApi['getOrders']; answer: Conekta.GetOrdersResponse };
  'GET /orders/{id}': { answer: Conekta.OrderResponse };
  'POST /orders/{id}/cancel': { answer: Conekta.OrderResponse };
  'POST /orders/{id}/refunds': { body: Conekta.OrderRefundRequest; answer: Conekta.OrderResponse };
  'GET /charges': { query: ChargesApi['getCharges']; answer: Conekta.GetChargesResponse };
  notice: { body: Conekta.EventResponse };
}

export interface mercadopago {
  'POST /v1/payments': { body: PaymentCreateRequest; answer: PaymentResponse };
  'PUT /v1/payments/{id}': { body: { status: 'cancelled' }; answer: PaymentResponse };
  'GET /v1/payments/{id}': { answer: PaymentResponse };
  'GET /v1/payments/search': { query: PaymentSearchOptions; answer: PaymentSearch };
  'POST /v1/payments/{id}/refunds': { body: CreateRefundBody; answer: RefundResponse };
  'GET /v1/payments/{id}/refunds': { answer: RefundResponse[] };
  'GET /v1/payments/{id}/refunds/{id}': { answer: RefundResponse };
  'GET /v1/payment_methods': { answer: PaymentMethodResponse[] };
  'POST /checkout/preferences': { body: PreferenceRequest; answer: PreferenceResponse };
  'PUT /checkout/preferences/{id}': { body: PreferenceRequest; answer: PreferenceResponse };
  'GET /checkout/preferences/{id}': { answer: PreferenceResponse };
  'GET /checkout/preferences/search': { query: PreferenceSearchOptions; answer: PreferenceSearchResponse };
  'GET /v1/chargebacks/{id}': { answer: ChargebackResponse };
  'GET /v1/chargebacks/search': { query: ChargebackSearchOptions; answer: ChargebackSearchResponse };
}

export interface stripe {
  'POST /v1/payment_intents': { body: Stripe.PaymentIntentCreateParams; answer: Stripe.PaymentIntent };
  'GET /v1/payment_intents': { query: Stripe.PaymentIntentListParams; answer: List<Stripe.PaymentIntent> };
  'GET /v1/payment_intents/{id}': { query: Stripe.PaymentIntentRetrieveParams; answer: Stripe.PaymentIntent };
  'POST /v1/payment_intents/{id}/cancel': { body: Stripe.PaymentIntentCancelParams; answer: Stripe.PaymentIntent };
  'POST /v1/checkout/sessions': { body: Stripe.Checkout.SessionCreateParams; answer: Stripe.Checkout.Session };
  'GET /v1/checkout/sessions': { query: Stripe.Checkout.SessionListParams; answer: List<Stripe.Checkout.Session> };
  'GET /v1/checkout/sessions/{id}': { query: Stripe.Checkout.SessionRetrieveParams; answer: Stripe.Checkout.Session };
  'POST /v1/checkout/sessions/{id}/expire': { body: Stripe.Checkout.SessionExpireParams; answer: Stripe.Checkout.Session };
  'POST /v1/customers': { body: Stripe.CustomerCreateParams; answer: Stripe.Customer };
  'GET /v1/customers': { query: Stripe.CustomerListParams; answer: List<Stripe.Customer> };
  'GET /v1/customers/{id}': { query: Stripe.CustomerRetrieveParams; answer: Stripe.Customer };
  'GET /v1/customers/{id}/cash_balance_transactions': { query: Stripe.CustomerListCashBalanceTransactionsParams; answer: List<Stripe.CustomerCashBalanceTransaction> };
  'POST /v1/refunds': { body: Stripe.RefundCreateParams; answer: Stripe.Refund };
  'GET /v1/refunds': { query: Stripe.RefundListParams; answer: List<Stripe.Refund> };
  'GET /v1/refunds/{id}': { query: Stripe.RefundRetrieveParams; answer: Stripe.Refund };
  'GET /v1/disputes': { query: Stripe.DisputeListParams; answer: List<Stripe.Dispute> };
  'GET /v1/disputes/{id}': { query: Stripe.DisputeRetrieveParams; answer: Stripe.Dispute };
  'POST /v1/disputes/{id}': { body: Stripe.DisputeUpdateParams; answer: Stripe.Dispute };
  'POST /v1/files': { body: Stripe.FileCreateParams; answer: Stripe.File };
  'POST /v2/core/accounts': { body: Stripe.V2.Core.AccountCreateParams; answer: Stripe.V2.Core.Account };
  'POST /v2/money_management/outbound_setup_intents': { body: Stripe.V2.MoneyManagement.OutboundSetupIntentCreateParams; answer: Stripe.V2.MoneyManagement.OutboundSetupIntent };
  'POST /v2/money_management/outbound_payments': { body: Stripe.V2.MoneyManagement.OutboundPaymentCreateParams; answer: V2 };
  'GET /v2/money_management/outbound_payments': { query: Stripe.V2.MoneyManagement.OutboundPaymentListParams & { page?: string }; answer: V2List<V2> };
  'GET /v2/money_management/outbound_payments/{id}': { answer: V2 };
  'GET /v2/money_management/financial_accounts/{id}': { answer: Stripe.V2.MoneyManagement.FinancialAccount };
  notice: { body: Stripe.Event | Stripe.V2.Core.EventNotification };
}

export interface woovi {
  'POST /api/v1/charge': { query: NonNullable<Parameters<Woovi['charge']['create']>[1]>; body: Sent<Woovi['charge']['create']>; answer: Said<Woovi['charge']['create']> };
  'GET /api/v1/charge': { query: Pages; answer: Said<Woovi['charge']['list']> };
  'GET /api/v1/charge/{id}': { answer: Said<Woovi['charge']['get']> };
  'DELETE /api/v1/charge/{id}': { answer: Said<Woovi['charge']['delete']> };
  'POST /api/v1/charge/{id}/refund': { body: Sent<Woovi['chargeRefund']['create'], 'chargeId'>; answer: Said<Woovi['chargeRefund']['create']> };
  'GET /api/v1/charge/{id}/refund': { query: Pages; answer: Said<Woovi['chargeRefund']['list']> };
  'POST /api/v1/payment': { body: Sent<Woovi['payment']['create']>; answer: Said<Woovi['payment']['create']> };
  'POST /api/v1/payment/approve': { body: Sent<Woovi['payment']['approve']>; answer: Said<Woovi['payment']['approve']> };
  'GET /api/v1/payment/{id}': { answer: Said<Woovi['payment']['get']> };
  'GET /api/v1/payment': { query: Pages; answer: Said<Woovi['payment']['list']> };
  'GET /api/v1/account/': { answer: Said<Woovi['account']['list']> };
  'GET /api/v1/transaction': { query: Listed['query'] & Pages; answer: Said<Woovi['transactions']['list']> };
  'GET /api/v1/transaction/{id}': { answer: Said<Woovi['transactions']['get']> };
}
