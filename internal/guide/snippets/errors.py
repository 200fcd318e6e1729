#= begin
from cascadapay import Cascada, CascadaConnectionError, CascadaError

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= catch
try:
    cascada.create_payment({"amount": 5, "currency": "MXN", "paymentMethodId": "sbx_cash"})
except CascadaError as e:
    print(e.code, e.details["limit"]["min"])
except CascadaConnectionError as e:
    print("not known: repeat it with the key", e.idempotency_key)
