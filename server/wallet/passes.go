package wallet

import (
	"crypto/x509"
	"time"

	"punchcard/server/wallet/apple"
	"punchcard/server/web"
	"punchcard/store"
)

// Passes makes the files of passes for Apple Wallet.
type Passes struct {
	Issuer     *x509.Certificate // of the certificates of shops
	pictures   apple.Cache
	signatures apple.Cache
}

// File returns the signed file of a pass whose shop has a certificate. logo returns the logo of the program, if it has one.
func (s *Passes) File(p *store.Pass, logo func() ([]byte, error)) ([]byte, error) {
	certificate, err := x509.ParseCertificate(p.Wallet.Certificate)
	if err != nil {
		return nil, err
	}
	key, err := apple.ParseKey(p.Wallet.Key)
	if err != nil {
		return nil, err
	}
	pictures, err := s.pictures.Pictures(appleLook(p), logo)
	if err != nil {
		return nil, err
	}
	signer := apple.Signer{Certificate: certificate, Key: key, Intermediate: s.Issuer, Signatures: &s.signatures}
	return apple.File(ApplePass(p), pictures, signer, time.Now())
}

// appleLook returns how the pictures of a pass look. Those of a pass that has ended show nothing of the card.
func appleLook(p *store.Pass) apple.Look {
	look := apple.Look{
		Brand:      p.Program.BrandColorHex,
		OnBrand:    web.BlackOrWhite(p.Program.BrandColorHex),
		Background: p.Program.BgColorHex,
		Ink:        p.Program.TextColorHex,
		LogoHash:   p.LogoHash.V,
		Stamps:     p.Card.StampsCount,
		Total:      p.Program.TotalStamps.V,
		Band:       p.Program.Type == store.ProgramDiscount,
	}
	for _, z := range p.Prizes {
		look.Prizes = append(look.Prizes, z.Threshold)
	}
	return look
}
