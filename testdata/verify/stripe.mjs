// Verifies one delivery with Stripe's library: the body comes on stdin, the
// secret and the signature header as arguments. Ends with 0 when it is genuine,
// with 3 when it is not.
import { readFileSync } from 'node:fs'
import Stripe from 'stripe'

const [secret, header] = process.argv.slice(2)
const { webhooks, errors } = new Stripe('sk_test_none')
try {
  console.log(webhooks.constructEvent(readFileSync(0), header, secret).event_id)
} catch (error) {
  if (!(error instanceof errors.StripeSignatureVerificationError)) throw error
  process.exit(3)
}
