package sender

import "github.com/cascadapay/cascada/internal/pay/problem"

// Why something is refused here. The sentences for people are in package message, by these keys.
var (
	bothWays           = problem.Define("authentication.both_ways")
	headerMalformed    = problem.Define("authentication.header_malformed")
	headerMissing      = problem.Define("authentication.header_missing")
	headerOfBrowsers   = problem.Define("authentication.header_of_browsers")
	headerOfProxies    = problem.Define("authentication.header_of_proxies")
	headerOfService    = problem.Define("authentication.header_of_service")
	headerOfSignature  = problem.Define("authentication.header_of_signature")
	headerOfTraces     = problem.Define("authentication.header_of_traces")
	neitherWay         = problem.Define("authentication.neither_way")
	passwordMissing    = problem.Define("authentication.password_missing")
	passwordUnreadable = problem.Define1("authentication.password_unreadable", "most")
	userMissing        = problem.Define("authentication.user_missing")
	userUnreadable     = problem.Define1("authentication.user_unreadable", "most")
	userWithColon      = problem.Define("authentication.user_with_colon")
	valueMissing       = problem.Define("authentication.value_missing")
	valueUnreadable    = problem.Define1("authentication.value_unreadable", "most")
	urlLoopback        = problem.Define("webhook.url_loopback")
	urlNotAbsolute     = problem.Define("webhook.url_not_absolute")
	urlNotASCII        = problem.Define("webhook.url_not_ascii")
	urlNotHTTP         = problem.Define("webhook.url_not_http")
	urlNotHTTPS        = problem.Define("webhook.url_not_https")
	urlPort            = problem.Define("webhook.url_port")
	urlPrivate         = problem.Define("webhook.url_private")
	urlShortIP         = problem.Define("webhook.url_short_ip")
	urlTooLong         = problem.Define1("webhook.url_too_long", "most")
	urlWithPassword    = problem.Define("webhook.url_with_password")
	urlWithoutHost     = problem.Define("webhook.url_without_host")
)
