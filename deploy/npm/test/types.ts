// Each line after @ts-expect-error has a fault that the types must find.
import { startPunchcard, type Api, type Envelope } from 'punchcard-server';

export async function typed() {
  await using shop = await startPunchcard({ clock: new Date() });
  // @ts-expect-error there is no such option
  await startPunchcard({ seeds: 'x' });
  const card: Api['IssuedCard'] = await shop.issue(shop.programs.standard);
  // @ts-expect-error a card has no such field
  card.points;
  // @ts-expect-error there is no such field
  await shop.issue(shop.programs.standard, { name: 'Ada' });
  // @ts-expect-error there is no such path
  await shop.api.GET('/customers');
  const hook = await shop.receiver();
  const stamped: Envelope<'stamp.assigned'> = (await hook.wait('stamp.assigned')).json();
  const stamps: number = stamped.data.stamps_count;
  // @ts-expect-error there is no such event
  await hook.wait('stamp.given');
  // @ts-expect-error there are two platforms
  shop.phone('windows');
  return stamps;
}
