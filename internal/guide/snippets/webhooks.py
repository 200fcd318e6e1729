#= begin
from cascadapay import Cascada

cascada = Cascada("https://pay.example", secret_key="sk_test_…")
#= subscribe
webhook = cascada.create_webhook(
    {"url": "https://shop.example/cascada", "events": ["payment.completed", "payment.failed", "payment.refunded", "claim.opened"]}
)
print(webhook["status"])  # and webhook["secret"] is what you store
#= stored
secret = webhook["secret"]
#= verify alone
#+ from http.server import BaseHTTPRequestHandler, HTTPServer
from cascadapay import WebhookError, read_webhook

#+ secret = "whsec_…"
#+
# headers and body are those of the request. Give the body as it came, not parsed.
def handle(headers, body: bytes) -> int:
    try:
        event = read_webhook(body, headers, secret)
    except WebhookError:
        return 401
    # Store event["id"] first, and drop an event that you have seen.
    if event["type"] == "payment.completed":
        print(event["type"], event["data"]["object"]["merchantOrderId"])
    return 204
#+
#+ class Webhooks(BaseHTTPRequestHandler):
#+     def do_POST(self):
#+         body = self.rfile.read(int(self.headers["Content-Length"]))
#+         self.send_response(handle(dict(self.headers.items()), body))
#+         self.end_headers()
#+
#+ HTTPServer(("", 3000), Webhooks).serve_forever()
#= received
import hashlib, hmac, time

body = b'{"id":"evt_1","type":"payment.completed","data":{"object":{"merchantOrderId":"1003"}}}'
t = str(int(time.time()))
v1 = hmac.new(secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
assert handle({"X-Service-Signature": f"t={t},v1={v1}"}, body) == 204
assert handle({"X-Service-Signature": f"t={t},v1={v1}"}, body + b" ") == 401
#= replay
#+ webhook = {"id": "wh_…"}  # of the reply
#+
from datetime import datetime, timedelta, timezone

an_hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
replay = cascada.replay_events(webhook["id"], {"from": an_hour_ago.strftime("%Y-%m-%dT%H:%M:%SZ")})
print(replay["events"])
#= rotate
#+ webhook = {"id": "wh_…"}  # of the reply
#+
rotated = cascada.rotate_webhook_secret(webhook["id"])
print(rotated["secret"][:6])  # the whole secret is what you store
