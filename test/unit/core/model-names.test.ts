import { expect, it } from 'vitest'
import { modelBudgetName } from '../../../src/shared/core/budget.ts'
import { ModelNames } from '../../../src/shared/core/model-names.ts'

const names = new ModelNames({
  aliases: [
    ['best', 'big-1'],
    ['quick', 'small'],
  ],
  groups: [
    { id: 'big', models: ['big-*'] },
    { id: 'some', models: ['best', 'other'] },
  ],
})

it.each([
  [['big-1'], 'big-1', true],
  [['big-1'], 'best', true],
  [['best'], 'big-1', true],
  [['big-1'], 'big-10', false],
  [['big'], 'big-10', true],
  [['big'], 'best', true],
  [['big'], 'big', false],
  [['some'], 'big-1', true],
  [['some'], 'big-2', false],
  [['small', 'some'], 'other', true],
  [['small', 'some'], 'quick', true],
  [['*'], 'anything', true],
  [['sm*'], 'quick', true],
  [['nothing'], 'small', false],
  [[], 'small', false],
])('%j covers %s: %s', (models, model, isCovered) => {
  expect(names.cover(models, model)).toBe(isCovered)
})

it('has one budget for the same names, whatever their order', () => {
  const of = (models: string[]): string => modelBudgetName(models, 'key', 'k', '2026-11')
  expect(of(['a', 'b'])).toBe(of(['b', 'a']))
  expect(new Set([of(['a', 'b']), of(['a,b']), of(['a']), of(['b'])]).size).toBe(4)
})
