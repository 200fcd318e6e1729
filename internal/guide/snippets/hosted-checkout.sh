#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= open
curl -s $API/checkout/sessions -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -H "Idempotency-Key: order-1002" \
  -d '{"amount": 250, "currency": "BRL", "country": "BR", "merchantOrderId": "1002", "returnUrl": "https://shop.example/thanks",
       "customer": {"firstName": "Ana", "lastName": "Souza", "email": "ana@example.com", "phone": "+5511987654321"},
       "description": "Yoga class"}' > session.json
TOKEN=$(jq -r .sessionId session.json)
jq -r .status session.json   # and .checkoutUrl is where you send the shopper
#= methods
curl -s $API/checkout/sessions/$TOKEN | jq -r '.methods[] | "\(.paymentMethodId) \(.currencyLocal) \(.payable)"'
#= select
ID=$(curl -s $API/checkout/sessions/$TOKEN/select -H "Content-Type: application/json" \
  -d '{"paymentMethodId": "sbx_pix", "customer": {"documentId": "52998224725"}}' | jq -r .transactionId)
#= read
#+ ID=TXN-…   # of the event
#+
curl -s $API/payments/$ID -H "Authorization: Bearer $KEY" | jq -r '"\(.status) \(.merchantOrderId)"'
