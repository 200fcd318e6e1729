#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= simulate
ID=$(curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"amount": 10, "paymentMethodId": "sbx_pse"}' | jq -r .transactionId)
curl -s $API/payments/$ID/simulate -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"action": "failed"}' >/dev/null
curl -s $API/payments/$ID -H "Authorization: Bearer $KEY" | jq -r .status
#= decline
curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"amount": 10.51, "paymentMethodId": "sbx_card"}' | jq -r .error.code
#= session
TOKEN=$(curl -s $API/checkout/sessions -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"amount": 10, "customer": {"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+5511987654321"}}' | jq -r .sessionId)
ID=$(curl -s $API/checkout/sessions/$TOKEN/select -H "Content-Type: application/json" -d '{"paymentMethodId": "sbx_pse"}' | jq -r .transactionId)
curl -s $API/payments/$ID/simulate -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"action": "paid"}' | jq -r .status
#= link
LINK=$(curl -s $API/payment-links -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"amount": 20, "description": "Two tickets"}' | jq -r .url)
# What the form of the link's page sends. The page that follows has the token of a session in its address.
PAGE=$(curl -sL -o page.html -w '%{url_effective}' $LINK --data-urlencode "name=Ana Souza" --data-urlencode "email=ana@example.com")
TOKEN=$(basename ${PAGE%\?*})
ID=$(curl -s $API/checkout/sessions/$TOKEN/select -H "Content-Type: application/json" -d '{"paymentMethodId": "sbx_pse"}' | jq -r .transactionId)
curl -s $API/payments/$ID/simulate -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"action": "paid"}' | jq -r .status
#= strict
curl -s -X PATCH $API/sandbox/settings -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"strict": true}' | jq -r .strict
#= clock
curl -s $API/sandbox/clock -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"advance": "48h"}' | jq -r .advanceSeconds
