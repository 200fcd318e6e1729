#= begin
from cascadapay import Cascada

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= offer
for m in cascada.list_payment_methods()["methods"]:
    if m["installments"]:
        print(m["paymentMethodId"], m["installments"]["max"])
#= create
made = cascada.create_payment(
    {"amount": "1200", "currency": "MXN", "paymentMethodId": "sbx_card", "installments": {"max": 6, "interestFree": 3}}
)
payment = cascada.get_payment(made["transactionId"])
print(payment["installments"]["count"])
