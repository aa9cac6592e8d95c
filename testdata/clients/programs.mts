// Uses the types that openapi-typescript generates from the OpenAPI document. Each line
// after @ts-expect-error has a fault that the types must find.
import createClient from "openapi-fetch";
import type { paths } from "./generated.js";

const client = createClient<paths>({
  baseUrl: process.env.BASE_URL,
  headers: { Authorization: `Bearer ${process.env.API_KEY}` },
});

const made = [
  await client.POST("/programs", { body: { type: "standard", name: "Coffee card", total_stamps: 10, icon_key: "coffee" } }),
  await client.POST("/programs", { body: { type: "private", name: "Regulars", total_stamps: 5, icon_key: "star" } }),
  await client.POST("/programs", { body: { type: "discount", name: "Neighbours", discount_percent: 10 } }),
  await client.POST("/programs", { body: { type: "access", name: "Members", access_image_url: "https://example.com/card.png" } }),
  await client.POST("/programs", { body: { type: "prepaid", name: "Gift card", initial_balance_cents: 2500 } }),
];
for (const { data, error } of made) {
  if (!data?.id) throw new Error(JSON.stringify(error));
}

const refused = [
  // @ts-expect-error total_stamps and icon_key are missing
  await client.POST("/programs", { body: { type: "standard", name: "Coffee card" } }),
  // @ts-expect-error a prepaid program has no stamps
  await client.POST("/programs", { body: { type: "prepaid", name: "Gift card", initial_balance_cents: 0, total_stamps: 10 } }),
  // @ts-expect-error no such type
  await client.POST("/programs", { body: { type: "points", name: "Points" } }),
];
for (const { error } of refused) {
  if (error?.error.code !== "validation_failed") throw new Error(JSON.stringify(error));
}
