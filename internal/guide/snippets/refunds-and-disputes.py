#= client
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
refund = cascada.refund_payment(
    transaction_id, {"amount": "30", "reason": "one of two returned"}, idempotency_key="refund-1001-1"
)
print(refund["amount"], refund["currency"])
#= claims
claims = list(cascada.all_claims({"status": "needs_evidence"}))
for claim in claims:
    print(claim["type"])
#= evidence
answered = cascada.submit_evidence(
    claims[0]["id"], {"kind": "delivery_proof", "text": "Delivered on 12 May, signed by the shopper"}
)
print(answered["status"])
