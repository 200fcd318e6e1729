#= begin
from cascadapay import Cascada

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= ping
print(cascada.ping()["environment"])
#= pay
payment = cascada.create_payment(
    {"amount": "25.5", "currency": "BRL", "paymentMethodId": "sbx_pix", "documentId": "52998224725"},
    idempotency_key="first-1",
)
print(payment["status"])
#= paid
#+ payment = {"transactionId": "TXN-…"}  # of the reply
#+
cascada.simulate_payment(payment["transactionId"], {"action": "paid"})
print(cascada.get_payment(payment["transactionId"])["status"])
