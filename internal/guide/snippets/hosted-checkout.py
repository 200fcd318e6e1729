#= begin
from cascadapay import Cascada

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= open
session = cascada.create_checkout_session(
    {
        "amount": "250", "currency": "BRL", "country": "BR", "merchantOrderId": "1002", "returnUrl": "https://shop.example/thanks",
        "customer": {"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+5511987654321"},
        "description": "Yoga class",
    },
    idempotency_key="order-1002",
)
print(session["status"])  # and session["checkoutUrl"] is where you send the shopper
#= methods
for m in cascada.get_checkout_session(session["sessionId"])["methods"]:
    print(m["paymentMethodId"], m["currencyLocal"], "true" if m["payable"] else "false")
#= select
chosen = cascada.select_checkout_method(session["sessionId"], {"paymentMethodId": "sbx_pix", "customer": {"documentId": "52998224725"}})
transaction_id = chosen["transactionId"]
#= read
#+ transaction_id = "TXN-…"  # of the event
#+
payment = cascada.get_payment(transaction_id)
print(payment["status"], payment["merchantOrderId"])
