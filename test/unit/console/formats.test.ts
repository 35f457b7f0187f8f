import { describe, expect, it } from 'vitest'
import {
  amountOf,
  axisMoney,
  currencySign,
  exactMoney,
  microOf,
  money,
  movedMicroOf,
  shortMoney,
} from '../../../src/console/format/money.ts'
import { bytes, countOf, duration, exactPercent, percent, short } from '../../../src/console/format/numbers.ts'
import { date, endOfDay, instant, moment, offsetName, relative, zoneName } from '../../../src/console/format/time.ts'

const EN = { locale: 'en-GB' } as const
/** `Intl` puts narrow and unbreakable spaces. */
const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, ' ')

describe('money', () => {
  it.each([
    [0, '$0.00'],
    [1, '$0.000001'],
    [5, '$0.000005'],
    [420, '$0.00042'],
    [4_200, '$0.0042'],
    [9_999, '$0.0100'],
    [10_000, '$0.01'],
    [1_234_567_890, '$1,234.57'],
    [-420, '-$0.00042'],
  ])('shows %d micro-units as %s: never as nothing', (micro, shown) => {
    expect(money(micro, EN)).toBe(shown)
  })

  it('gives the ticks of an axis the decimals that tell them apart', () => {
    expect([0, 5_000, 10_000, 15_000].map((tick) => axisMoney(tick, 5_000, EN))).toEqual([
      '$0.000',
      '$0.005',
      '$0.010',
      '$0.015',
    ])
    expect(axisMoney(20, 10, EN)).toBe('$0.00002')
    expect(axisMoney(2_000_000, 1_000_000, EN)).toBe('$2.00')
  })

  it('shows all of it on hover, and little of it on cards', () => {
    expect(exactMoney(1_234_567, EN)).toBe('$1.234567')
    expect(shortMoney(9_990_000, EN)).toBe('$9.99')
    expect(plain(shortMoney(1_250_000_000_000, EN))).toMatch(/^\$1\.[23]5?m$/i)
    expect(money(1_500_000, { locale: 'zh-CN', currency: 'CNY' })).toBe('¥1.50')
    expect(['USD', 'EUR', 'CNY'].map((currency) => currencySign(currency, 'en-GB'))).toEqual(['$', '€', '¥'])
  })

  it.each([
    ['25', 25_000_000],
    ['12.5', 12_500_000],
    ['$ 1,234.000001', 1_234_000_001],
    ['0', 0],
    ['', null],
    ['1e3', null],
    ['-1', null],
    ['1.0000001', null],
    ['12,50x', null],
    ['12,50', null],
    ['1,5', null],
    ['0,500', null],
    ['1,2345', null],
    ['1,234 567', null],
    ['1 234 567', 1_234_567_000_000],
    ['USD 1,234,567.50', 1_234_567_500_000],
    ['−12.50', null],
  ])('reads %j as %j', (text, micro) => {
    expect(microOf(text)).toBe(micro)
    if (micro !== null) expect(microOf(amountOf(micro))).toBe(micro)
  })
})

describe('an amount that moves money', () => {
  it.each([
    ['topup', '12.50', 12_500_000],
    ['topup', '-12.50', null],
    ['refund', '5', -5_000_000],
    ['refund', '-5', null],
    ['adjustment', '5', 5_000_000],
    ['adjustment', '-5', -5_000_000],
    ['adjustment', '-12,50', null],
    ['adjustment', '−5', null],
    ['topup', '0', null],
  ] as const)('of a %s, %j is read as %j', (kind, text, micro) => {
    expect(movedMicroOf(kind, text)).toBe(micro)
  })
})

describe('numbers', () => {
  it.each([
    ['1,000', 1_000],
    ['1 000 000', 1_000_000],
    ['1,5', null],
    ['10,00', null],
    ['1,000.0', null],
    [' 7 ', 7],
  ])('are read from %j as %j', (text, count) => {
    expect(countOf(text)).toBe(count)
  })

  it('are exact below ten thousand, and short above', () => {
    expect(short(9_999, 'en-GB')).toBe('9,999')
    expect(short(1_234_567, 'en-GB').toLowerCase()).toBe('1.2m')
    expect(percent(0.042, 'en-GB')).toBe('4.2%')
    expect(percent(0.42, 'en-GB')).toBe('42%')
    expect(exactPercent(99.5, 'en-GB')).toBe('99.5%')
    expect(exactPercent(33.325, 'en-GB')).toBe('33.325%')
    expect(exactPercent(80, 'en-GB')).toBe('80%')
    expect(plain(bytes(1_500_000, 'en-GB'))).toBe('1.5 MB')
    expect(plain(bytes(110, 'en-GB'))).toBe('110 bytes')
    expect(plain(bytes(1, 'en-GB'))).toBe('1 byte')
    expect(plain(bytes(110, 'zh'))).toBe('110字节')
  })

  it.each([
    [0.9, '90%'],
    [0.957, '95.7%'],
    [0.9899, '98.9%'],
    [0.995, '99.5%'],
    [0.99996, '99.99%'],
    [0.9999999999, '99.99%'],
    [1, '100%'],
    [1.2, '120%'],
  ])('show the share %d as %s', (share, shown) => {
    expect(percent(share, 'en-GB')).toBe(shown)
  })

  it.each([
    [0.26, '0.3 ms'],
    [850, '850 ms'],
    [999.6, '1 sec'],
    [12_400, '12.4 sec'],
    [59_960, '1 min'],
    [185_000, '3 min 5 sec'],
    [7_500_000, '2 hr 5 min'],
  ])('shows %d ms as %s', (ms, shown) => {
    expect(plain(duration(ms, 'en-GB')).replace('secs', 'sec').replace('mins', 'min').replace('hrs', 'hr')).toBe(shown)
  })
})

describe('times', () => {
  const now = new Date('2026-11-25T16:30:00Z')

  it('show the day only when it is another one, in the zone of the page', () => {
    const at = new Date('2026-11-25T15:30:05Z')
    expect(moment(at, { ...EN, zone: 'UTC', now })).toBe('15:30:05')
    // In Shanghai it is the 26th already, and this was on the 25th.
    expect(moment(at, { ...EN, zone: 'Asia/Shanghai', now })).toBe('25 Nov, 23:30:05')
    expect(moment(new Date('2025-11-25T15:30:05Z'), { ...EN, zone: 'UTC', now })).toBe('25 Nov 2025, 15:30:05')
    expect(plain(instant(at, { ...EN, zone: 'America/St_Johns' }))).toBe('Wed, 25 Nov 2026, 12:00:05.000 GMT-3:30')
    expect(date(at, { locale: 'zh-CN', zone: 'UTC' })).toBe('2026年11月25日')
  })

  it('tell how long ago it was, and never that the past is to come', () => {
    expect(relative(new Date('2026-11-25T16:27:00Z'), { ...EN, now })).toBe('3 min ago')
    expect(relative(new Date('2026-11-27T16:30:00Z'), { ...EN, now })).toBe('in 2 days')
    // The clock of a page stands still for up to a minute.
    expect(relative(new Date('2026-11-25T16:30:40Z'), { ...EN, now })).toBe('now')
  })

  it('name a zone with its offset', () => {
    expect(zoneName('Asia/Shanghai', now)).toBe('Asia/Shanghai (GMT+8)')
    expect(zoneName('UTC', now)).toBe('UTC')
    expect(offsetName('America/St_Johns', now)).toBe('GMT-3:30')
  })

  it.each([
    ['2026-11-25', 'UTC', '2026-11-26T00:00:00.000Z'],
    ['2026-11-25', 'Asia/Shanghai', '2026-11-25T16:00:00.000Z'],
    ['2026-11-25', 'America/St_Johns', '2026-11-26T03:30:00.000Z'],
    // Clocks change within these days.
    ['2026-03-29', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-25T23:00:00.000Z'],
  ])('end the day %s of %s at %s', (day, zone, end) => {
    expect(endOfDay(day, zone).toISOString()).toBe(end)
  })
})
