// Command clients uses the package that oapi-codegen generates from the OpenAPI document of
// a running server. It makes one program of each type.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"clients/generated"
)

func main() {
	key := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	c, err := generated.NewClientWithResponses(os.Getenv("BASE_URL"), generated.WithRequestEditorFn(key))
	if err != nil {
		log.Fatal(err)
	}
	var standard, private, discount, access, prepaid generated.ProgramFields
	for _, err := range []error{
		standard.FromStandardProgramFields(generated.StandardProgramFields{Name: "Coffee card", TotalStamps: 10, IconKey: "coffee"}),
		private.FromPrivateProgramFields(generated.PrivateProgramFields{Name: "Regulars", TotalStamps: 5, IconKey: "star"}),
		discount.FromDiscountProgramFields(generated.DiscountProgramFields{Name: "Neighbours", DiscountPercent: 10}),
		access.FromAccessProgramFields(generated.AccessProgramFields{Name: "Members", AccessImageUrl: "https://example.com/card.png"}),
		prepaid.FromPrepaidProgramFields(generated.PrepaidProgramFields{Name: "Gift card", InitialBalanceCents: 2500}),
	} {
		if err != nil {
			log.Fatal(err)
		}
	}
	for _, body := range []generated.ProgramFields{standard, private, discount, access, prepaid} {
		want, err := body.Discriminator()
		if err != nil {
			log.Fatal(err)
		}
		got, err := c.CreateProgramWithResponse(context.Background(), nil, body)
		if err != nil {
			log.Fatal(err)
		}
		if got.JSON201 == nil || string(got.JSON201.Type) != want {
			log.Fatalf("a program of type %s: %s %s", want, got.Status(), got.Body)
		}
	}
}
