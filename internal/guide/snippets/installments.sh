#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= offer
curl -s $API/payment-methods -H "Authorization: Bearer $KEY" | jq -r '.methods[] | select(.installments) | "\(.paymentMethodId) \(.installments.max)"'
#= create
ID=$(curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"amount": 1200, "currency": "MXN", "paymentMethodId": "sbx_card", "installments": {"max": 6, "interestFree": 3}}' | jq -r .transactionId)
curl -s $API/payments/$ID -H "Authorization: Bearer $KEY" | jq -r .installments.count
