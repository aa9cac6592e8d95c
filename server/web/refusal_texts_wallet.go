package web

// walletRefusals are those about wallets of phones.
var walletRefusals = []refusal{
	{"Phones keep the public URL for ever, and they cannot open that of this shop: it needs https and a name on the internet. Set " +
		"--public-url of the server or of the shop first.",
		"Phones cannot open the address of this shop, and they would keep it for ever. It needs https and a name on the internet first."},
	{"The shop cannot make passes for Apple Wallet at present: its certificate has ended.",
		"The shop cannot add cards to Apple Wallet at present. The page of your card works as before."},
	{"There is no certificate request. Make one first, and give the certificate that Apple makes of it.",
		"Make the request first. Then give the certificate that Apple makes of it."},
	{"must be the .cer file that Apple has made, as it was downloaded",
		"This is not the certificate. Choose the .cer file that you have downloaded at Apple."},
	{"is the certificate request: upload it at Apple, and give the .cer file that Apple makes of it",
		"This is the request. Upload it at Apple, and give the .cer file that Apple makes of it."},
	{"is for another key: make the certificate at Apple with the request that waits here, and give that one",
		"This certificate was made with another request. Download the request here, make the certificate at Apple with it, and give that one."},
	{"is for something else than passes: make a Pass Type ID Certificate at Apple",
		"This certificate is not for passes. Make a Pass Type ID certificate at Apple, and give that one."},
	{"has no team: download the Pass Type ID Certificate from your own account at Apple again",
		"This certificate names no team. Download the Pass Type ID certificate at Apple again."},
	{"has no pass type, or two different ones: make a Pass Type ID Certificate at Apple for an identifier such as pass.com.example.card",
		"This certificate names no pass type. Choose an identifier such as pass.com.example.card at Apple, and make its certificate."},
	{"is valid from %v on, and the clock of the server says %v UTC: correct the clock if it is wrong, or wait",
		"This certificate is valid from {0} on, and the clock of this server says {1} UTC. If the clock is wrong, whoever runs the server " +
			"has to correct it. Otherwise wait until then."},
	{"has ended on %v, and the clock of the server says %v UTC: correct the clock if it is wrong, or make a new certificate at Apple",
		"This certificate ended on {0}, and the clock of this server says {1} UTC. If the clock is right, make a new certificate at Apple."},
	{"is not issued by Apple for passes (Worldwide Developer Relations, G4): make a Pass Type ID Certificate at Apple and give that one",
		"This certificate was not issued by Apple for passes. Download the Pass Type ID certificate at Apple, and give that file."},
	{"is for the pass type %v of the team %v: passes on phones need one for %v of the team %v",
		"This certificate is for {0} of the team {1}. Passes on phones need one for {2} of the team {3}: choose that identifier at Apple."},
	{"is not the password of this file", "The password does not open this file."},
	{"must be a .p12 file with one certificate and its RSA key",
		"This .p12 file cannot be used. Export the certificate and its key together into one file."},
	{"is too slow to open: export it again, or make a request here",
		"This .p12 file takes too long to open. Export it again, or make a request here."},
}
