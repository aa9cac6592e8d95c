import type { DevApi } from './clients';

type Entry = DevApi['JournalAnswer']['data'][number];

/** Returns a text with a line for each entry, in order, and one for each hint. Answers that are errors have their code. */
export function journalOf(entries: Entry[]): string {
  return entries
    .toSorted((a, b) => a.seq - b.seq)
    .flatMap((entry) => [`  ${lineOf(entry)}`, ...entry.hints.map((hint) => `    hint ${hint.code}: ${hint.message}`)])
    .join('\n');
}

function lineOf(entry: Entry): string {
  if ('event' in entry) {
    const outcome = entry.error ?? entry.status;
    return `WEBHOOK ${outcome}  ${entry.event} to ${entry.url}, attempt ${entry.attempt}`;
  }
  const { method, path, query, response, replayed, fault } = entry;
  const error = response.status >= 400 ? `  ${JSON.stringify(response.body)}` : '';
  const more = `${replayed ? '  replayed' : ''}${fault ? `  fault ${fault}` : ''}`;
  return `${method} ${response.status}  ${path}${query && `?${query}`}${more}${error}`;
}
