#= begin
API=https://pay.example/api/v1
KEY=sk_test_…
#= catch
curl -s $API/payments -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
  -d '{"amount": 5, "currency": "MXN", "paymentMethodId": "sbx_cash"}' | jq -r '"\(.error.code) \(.error.details.limit.min)"'
