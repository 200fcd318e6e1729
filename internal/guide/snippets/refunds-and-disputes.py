#= begin
from cascadapay import Cascada

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= setup


def paid(action):
    order = {"amount": "100", "currency": "BRL", "paymentMethodId": "sbx_pix", "documentId": "52998224725"}
    return cascada.create_payment(order, sandbox_simulate=action)["transactionId"]


paid("paid")
transaction_id = paid("paid")
paid("chargeback")
#= refund
#+ transaction_id = "TXN-…"  # the payment
#+
refund = cascada.refund_payment(
    transaction_id, {"amount": "30", "reason": "one of two returned"}, idempotency_key="refund-1001-1"
)
print(refund["amount"], refund["currency"])
#= claims
for claim in cascada.all_claims({"status": "needs_evidence"}):
    print(claim["type"])
#= pick
claim_id = cascada.list_claims({"status": "needs_evidence"})["data"][0]["id"]
#= evidence
#+ claim_id = "CLM-…"  # of the event, or of the list
#+
answered = cascada.submit_evidence(
    claim_id, {"kind": "delivery_proof", "text": "Delivered on 12 May, signed by the shopper"}
)
print(answered["status"])
