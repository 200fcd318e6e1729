#= simulate
from cascadapay import Cascada, CascadaError

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
made = cascada.create_payment({"amount": 10, "paymentMethodId": "sbx_pse"})
cascada.simulate_payment(made["transactionId"], {"action": "failed"})
print(cascada.get_payment(made["transactionId"])["status"])
#= decline
try:
    cascada.create_payment({"amount": "10.51", "paymentMethodId": "sbx_card"})
except CascadaError as e:
    print(e.code)
#= strict
print("true" if cascada.set_sandbox({"strict": True})["strict"] else "false")
#= clock
print(cascada.advance_clock({"advance": "48h"})["advanceSeconds"])
