import type { Messages } from 'oncekit/react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import type { GoodsWords } from '../lab/goods-fields.tsx';

/** The whole table in German, with words for the refusals that a person meets. */
export const GERMAN: Messages<PlacedOrder> = {
  idle: '',
  executing: 'Wird gesendet …',
  retrying: 'Wir versuchen es noch einmal. Bestellt wird nur einmal.',
  offline: 'Sie sind offline. Gesendet wird, sobald Sie wieder online sind.',
  unknown: 'Wir wissen noch nicht, ob die Bestellung angekommen ist. Sie können sie gefahrlos noch einmal senden.',
  checking: 'Wir sehen nach, ob die Bestellung angekommen ist.',
  hasSucceeded: (outcome) => (outcome?.ok ? `Bestellt. Ihre Nummer ist ${outcome.data.id}.` : 'Bestellt.'),
  hasErrored: 'Das hat nicht geklappt. Es wurde nichts bestellt.',
  hasNavigated: 'Einen Moment …',
  absent: 'Es wurde nichts bestellt. Sie können die Bestellung noch einmal senden.',
  late: 'Die Bestellung ist noch unterwegs. Bitte bleiben Sie auf dieser Seite.',
  unsettled:
    'Die Bestellung ist vielleicht durchgegangen. Bitte senden Sie sie nicht noch einmal: Wir klären das. Sie können diese Seite schließen.',
  unreadable: 'Eine Datei, die Sie gewählt haben, fehlt oder hat sich geändert. Bitte wählen Sie sie noch einmal.',
  elsewhere:
    'Etwas zwischen Ihnen und uns leitet woandershin, vielleicht zu einer Anmeldung. Öffnen Sie diese Seite in einem anderen Tab und sehen Sie dann noch einmal nach.',
  recovered: 'Diese Bestellung ist bereits bei uns.',
  repeated: 'Diese Bestellung ist schon durchgegangen. Noch einmal senden?',
  checkAgain: 'Noch einmal nachsehen',
  startOver: 'Neu beginnen',
  sendAgain: 'Noch einmal senden',
  show: 'Anzeigen',
  validation: 'Bitte sehen Sie die markierten Felder noch einmal an. Es wurde nichts bestellt.',
  unauthorized: 'Bitte melden Sie sich an und senden Sie die Bestellung dann noch einmal.',
  failed: 'Davon ist leider nicht mehr genug da. Es wurde nichts bestellt.',
  rate_limited: 'Das waren viele Versuche. Bitte warten Sie einen Moment.',
  unavailable: 'Wir sind gerade nicht erreichbar.',
  payload_mismatch: 'Diese Bestellung wurde schon mit anderen Angaben gesendet. Die neuen gelten nicht.',
};

/** The fields. */
export const GERMAN_GOODS: GoodsWords = {
  product: 'Artikel',
  quantity: 'Menge',
  left: (count) => `noch ${count.toLocaleString('de-DE')}`,
};

/** In place of what the server says of a field, which is English. */
export const GERMAN_ERRORS: Record<string, string[]> = {
  sku: ['Bitte wählen Sie einen Artikel.'],
  quantity: ['Bitte geben Sie eine ganze Zahl von 1 bis 10 ein.'],
};
