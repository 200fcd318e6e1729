#= begin
from cascadapay import Cascada, CascadaError

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= simulate
made = cascada.create_payment({"amount": 10, "paymentMethodId": "sbx_pse"})
cascada.simulate_payment(made["transactionId"], {"action": "failed"})
print(cascada.get_payment(made["transactionId"])["status"])
#= decline
try:
    cascada.create_payment({"amount": "10.51", "paymentMethodId": "sbx_card"})
except CascadaError as e:
    print(e.code)
#= session
session = cascada.create_checkout_session(
    {"amount": 10, "customer": {"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+5511987654321"}}
)
chosen = cascada.select_checkout_method(session["sessionId"], {"paymentMethodId": "sbx_pse"})
print(cascada.simulate_payment(chosen["transactionId"], {"action": "paid"})["status"])
#= link
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

link = cascada.create_payment_link({"amount": 20, "description": "Two tickets"})
# What the form of the link's page sends. The page that follows has the token of a session in its address.
page = urlopen(link["url"], urlencode({"name": "Ana Souza", "email": "ana@example.com"}).encode())
token = urlsplit(page.url).path.split("/")[-1]
chosen = cascada.select_checkout_method(token, {"paymentMethodId": "sbx_pse"})
print(cascada.simulate_payment(chosen["transactionId"], {"action": "paid"})["status"])
#= strict
print("true" if cascada.set_sandbox({"strict": True})["strict"] else "false")
#= clock
print(cascada.advance_clock({"advance": "48h"})["advanceSeconds"])
