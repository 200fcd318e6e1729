package letter

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Alert is the letter about a user's account, or about a merchant's key, pause or leaving.
func (w *Writer) Alert(n mails.Alert) Letter {
	texts, known := w.texts[n.Language]
	if !known {
		texts = w.texts[merchants.English]
	}
	news := n.News
	values := strings.NewReplacer(
		"{user}", plain(n.User), "{merchant}", plain(news.Merchant), "{role}", texts["alert_role_"+string(news.Role)], "{key}", plain(n.Key), "{until}", moment(n.Until),
		"{at}", moment(news.At), "{by}", plain(news.By), "{address}", plain(news.Address), "{browser}", news.Browser, "{shop}", plain(n.Shop), "{service}", w.service,
	)
	keys := append([]string{"alert_" + string(news.What), ""}, factsOf(n)...)
	keys = append(append(keys, ""), adviceOf(n)...)
	if n.Last {
		keys = append(keys, "", "alert_last")
	}
	var text strings.Builder
	for _, key := range append(keys, "", "wallet_nothing_else", "", "wallet_automatic") {
		text.WriteString(values.Replace(texts[key]) + "\n")
	}
	return Letter{Subject: values.Replace(texts["alert_"+string(news.What)+"_subject"]), Text: text.String()}
}

// ofOthers reports whether somebody other than the account's user may have done it.
func ofOthers(n mails.Alert) bool { return n.User == "" || n.News.What.ByOthers() }

// factsOf are the keys of the lines that say what is known: whose account or which key, when, by whom and from where.
func factsOf(n mails.Alert) (keys []string) {
	add := func(when bool, key string) {
		if when {
			keys = append(keys, key)
		}
	}
	news, key, others := n.News, n.Key != "", ofOthers(n)
	add(n.User != "", "alert_account")
	add(news.Merchant != "", "alert_merchant")
	add(news.Role != "", "alert_role_now")
	add(key, "alert_key")
	add(news.What == mails.KeyRolled && !n.Until.IsZero(), "alert_until")
	add(news.What == mails.KeyRolled && n.Until.IsZero(), "alert_until_now")
	add(true, "alert_at")
	add(news.What == mails.MerchantErasing, "alert_erased_at")
	add(others && news.By != "", "alert_by")
	add(others && news.By == "" && news.What != mails.MerchantPaidOut && news.What != mails.MerchantErasing, "alert_by_operator") // the service did these
	add(news.Address != "", "alert_address")
	add(news.Browser != "", "alert_browser")
	add(news.Browser == "" && news.Address != "" && (!others || news.By != ""), "alert_browser_unknown")
	return slices.Clip(keys)
}

// adviceOf are the keys of what to do.
func adviceOf(n mails.Alert) []string {
	switch {
	case n.Key != "" && n.Shop != "":
		return []string{"alert_fine_others", "alert_do_key"}
	case n.Key != "":
		return []string{"alert_fine_others", "alert_do_key_all"}
	case n.News.What == mails.MerchantMoved:
		return []string{"alert_fine_others", "alert_do_moved"}
	case n.News.What == mails.MerchantPaused:
		return []string{"alert_do_paused"}
	case n.News.What == mails.MerchantClosed && n.Until.IsZero():
		return []string{"alert_do_closed", "alert_do_export"}
	case n.News.What == mails.MerchantClosed:
		return []string{"alert_do_closed", "alert_do_reserve", "alert_do_export"}
	case n.News.What == mails.MerchantPaidOut, n.News.What == mails.MerchantErasing:
		return []string{"alert_do_export"}
	case n.News.What == mails.MerchantResumed, n.News.What == mails.MerchantReopened:
		return []string{"alert_do_resumed"}
	case n.News.What.ByOthers():
		return []string{"alert_fine_others", "alert_do_others"}
	}
	return []string{"alert_fine", "alert_do_own"}
}
