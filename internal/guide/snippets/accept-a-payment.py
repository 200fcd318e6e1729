#= begin
from cascadapay import Cascada

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= methods
for m in cascada.list_payment_methods({"country": "BR"})["methods"]:
    if m["routable"]:
        print(m["paymentMethodId"])
#= create
payment = cascada.create_payment(
    {
        "amount": "99.9", "currency": "BRL", "paymentMethodId": "sbx_pix", "documentId": "52998224725",
        "merchantOrderId": "1001", "expand": ["paymentData"],
    },
    idempotency_key="order-1001",
)
print("true" if payment["paymentData"] else "false")
#= wait
#+ payment = {"transactionId": "TXN-…"}  # of the reply
#+
print(cascada.get_payment(payment["transactionId"])["status"])
#= cancel
#+ payment = {"transactionId": "TXN-…"}  # of the reply
#+
print(cascada.cancel_payment(payment["transactionId"])["status"])
