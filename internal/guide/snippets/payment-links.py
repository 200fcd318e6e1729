#= begin
from cascadapay import Cascada

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= create
link = cascada.create_payment_link(
    {"amount": "250", "currency": "BRL", "country": "BR", "merchantOrderId": "class-7", "description": "Yoga class", "uses": 20},
    idempotency_key="link-class-7",
)
print(link["status"], link["uses"])  # and link["url"] is what you send
#= close
#+ link = {"id": "lnk_…"}  # of the reply
#+
closed = cascada.update_payment_link(link["id"], {"status": "closed"})
print(closed["status"], closed["paid"])
