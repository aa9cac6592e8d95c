package google

// The states of an object. Google deletes none.
const (
	StateActive   = "ACTIVE"
	StateExpired  = "EXPIRED"
	StateInactive = "INACTIVE"
)

// Class is what all cards of a program have in common (loyaltyClass of the API).
type Class struct {
	ID                   string           `json:"id"` // the issuer's id, a full stop and a name
	IssuerName           string           `json:"issuerName"`
	ProgramName          string           `json:"programName"`
	LocalizedProgramName *Localized       `json:"localizedProgramName"`
	ProgramLogo          Image            `json:"programLogo"`
	ReviewStatus         string           `json:"reviewStatus"` // UNDER_REVIEW
	HexBackgroundColor   string           `json:"hexBackgroundColor"`
	CallbackOptions      *CallbackOptions `json:"callbackOptions"` // nil: Google reports nothing
}

func (c *Class) path() string { return "loyaltyClass/" + c.ID }

// CallbackOptions say where Google reports that holders save and delete objects.
type CallbackOptions struct {
	URL string `json:"url"`
}

// Object is a card (loyaltyObject of the API). What is absent from a change is left as it is, so the fields that can be empty are
// sent as null.
type Object struct {
	ID                     string       `json:"id"`
	ClassID                string       `json:"classId"`
	State                  string       `json:"state"`
	AccountName            *string      `json:"accountName"`
	AccountID              *string      `json:"accountId"`
	Barcode                *Barcode     `json:"barcode"`
	LoyaltyPoints          *Points      `json:"loyaltyPoints"`
	SecondaryLoyaltyPoints *Points      `json:"secondaryLoyaltyPoints"`
	TextModulesData        []TextModule `json:"textModulesData"`
	LinksModuleData        *Links       `json:"linksModuleData"`
	ValidTimeInterval      *Interval    `json:"validTimeInterval"`
	Messages               []Message    `json:"messages,omitzero"`         // nil: as they are
	NotifyPreference       string       `json:"notifyPreference,omitzero"` // of this change; NotifyOnUpdate or empty
}

func (o *Object) path() string { return "loyaltyObject/" + o.ID }

// NotifyOnUpdate makes phones notify about a change.
const NotifyOnUpdate = "NOTIFY_ON_UPDATE"

// Points are a number with a label.
type Points struct {
	Label          string     `json:"label"`
	LocalizedLabel *Localized `json:"localizedLabel"`
	Balance        Balance    `json:"balance"`
}

// Balance is the number of Points as it is shown.
type Balance struct {
	String string `json:"string"`
}

// Barcode is the code that the till reads.
type Barcode struct {
	Type          string `json:"type"` // QR_CODE
	Value         string `json:"value"`
	AlternateText string `json:"alternateText"`
}

// TextModule is a paragraph of an object.
type TextModule struct {
	ID              string     `json:"id"`
	Header          string     `json:"header"`
	LocalizedHeader *Localized `json:"localizedHeader,omitempty"`
	Body            string     `json:"body"`
	LocalizedBody   *Localized `json:"localizedBody,omitempty"`
}

// Links are the links of an object.
type Links struct {
	URIs []URI `json:"uris"`
}

// URI is a link, or the address of a picture.
type URI struct {
	ID          string `json:"id,omitempty"`
	URI         string `json:"uri"`
	Description string `json:"description,omitempty"`
}

// Image is a picture, which Google fetches.
type Image struct {
	SourceURI URI `json:"sourceUri"`
}

// Interval is when an object can be used.
type Interval struct {
	End DateTime `json:"end"`
}

// DateTime is a time in RFC 3339.
type DateTime struct {
	Date string `json:"date"`
}

// Message is a text that is added to an object.
type Message struct {
	ID              string     `json:"id"`
	Header          string     `json:"header"`
	LocalizedHeader *Localized `json:"localizedHeader,omitempty"`
	Body            string     `json:"body"`
	LocalizedBody   *Localized `json:"localizedBody,omitempty"`
	MessageType     string     `json:"messageType"`
}

// Localized is a text in several languages.
type Localized struct {
	DefaultValue     Translation   `json:"defaultValue"`
	TranslatedValues []Translation `json:"translatedValues,omitempty"`
}

// Translation is a text in a language.
type Translation struct {
	Language string `json:"language"`
	Value    string `json:"value"`
}
