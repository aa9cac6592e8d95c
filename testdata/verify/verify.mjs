// A receiver of webhooks: WEBHOOK_SECRET=whsec_… node verify.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

// Whether the header was made with the secret for these bytes, and not more
// than five minutes ago.
function genuine(secret, header, body) {
  const [, t, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? []
  if (!t || Math.abs(Date.now() / 1000 - Number(t)) > 300) return false
  const own = createHmac('sha256', secret).update(`${t}.`).update(body).digest()
  return timingSafeEqual(own, Buffer.from(signature, 'hex')) // in constant time
}

// The highest X-Service-Sequence of each card so far. Keep it with your copy of the card,
// and change both in one transaction.
const newest = new Map()

// Whether a newer event of the card came before, so that this one, a retry, must not
// change what is known of the card. It remembers the sequence otherwise.
function late(card, sequence) {
  if (card && sequence < (newest.get(card) ?? 0)) return true
  newest.set(card, sequence)
  return false
}

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks) // the bytes as they came: parse them later
  if (!genuine(process.env.WEBHOOK_SECRET, request.headers['x-service-signature'], body)) {
    response.writeHead(400).end()
    return
  }
  const { event, event_id, data } = JSON.parse(body)
  console.log(event, event_id) // seen this event_id before? then it is a repeat
  if (late(data.card_instance_id, Number(request.headers['x-service-sequence'] ?? 0))) console.log('late', event_id)
  response.writeHead(204).end()
})
server.listen(Number(process.env.PORT ?? 9000), '127.0.0.1', () => console.log(`listening on 127.0.0.1:${server.address().port}`))
