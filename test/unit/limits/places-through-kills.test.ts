import { expect, it } from 'vitest'
import { dose } from '../../support/dose.ts'
import { placeStory } from '../../support/place-story.ts'
import type { PlaceKind } from '../../support/place-story.ts'
import { TEST_SEED } from '../../support/seed.ts'

/** `SLUICE_TEST_PLACE_STORIES=10000` makes a longer run, `SLUICE_TEST_SEED` another one. */
const STORIES = dose('SLUICE_TEST_PLACE_STORIES', { short: 12, long: 1_000 })
const KINDS: readonly PlaceKind[] = ['places of a caller', 'slots of an upstream key']

async function expectAll(seed: number, kind: PlaceKind): Promise<void> {
  for (const [had, due] of await placeStory(seed, kind)) expect({ seed, had }).toEqual({ seed, had: due })
}

it.each([21, 53, 78])(
  'leaves a caller the places that nobody holds while the control process is away (seed %d)',
  async (seed) => {
    await expectAll(seed, 'places of a caller')
  },
)

it.each(KINDS)(
  'leaves all %s there are to who asks, whenever the control process is killed',
  async (kind) => {
    for (let nth = 0; nth < STORIES; nth++) await expectAll(TEST_SEED + nth, kind)
  },
  600_000,
)
