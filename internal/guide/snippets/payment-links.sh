#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= create
curl -s $API/payment-links -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -H "Idempotency-Key: link-class-7" \
  -d '{"amount": 250, "currency": "BRL", "country": "BR", "merchantOrderId": "class-7", "description": "Yoga class", "uses": 20}' > link.json
jq -r '"\(.status) \(.uses)"' link.json   # and .url is what you send
#= close
#+ LINK=lnk_…   # of the reply
#+
LINK=$(jq -r .id link.json)
curl -s -X PATCH $API/payment-links/$LINK -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"status": "closed"}' | jq -r '"\(.status) \(.paid)"'
