/** The colours of both themes; `DESIGN.md` says what each is for. */
export interface Colours {
  readonly ground: string
  readonly raised: string
  readonly line: string
  readonly control: string
  readonly text: string
  readonly muted: string
  readonly accent: string
  readonly onAccent: string
  readonly accentSoft: string
  readonly good: string
  readonly goodSoft: string
  readonly warn: string
  readonly warnSoft: string
  readonly bad: string
  readonly onBad: string
  readonly badSoft: string
  /** Of the groups in a chart, where a legend names each. */
  readonly group1: string
  readonly group2: string
  readonly group3: string
  readonly group4: string
  readonly group5: string
  readonly group6: string
}

export const LIGHT: Colours = {
  ground: '#ffffff',
  raised: '#f4f6f9',
  line: '#e3e7ed',
  control: '#7d8795',
  text: '#1a1f27',
  muted: '#5a6472',
  accent: '#1f5fd0',
  onAccent: '#ffffff',
  accentSoft: '#e9f0fc',
  good: '#18713d',
  goodSoft: '#e6f4ec',
  warn: '#8a5300',
  warnSoft: '#fbf1de',
  bad: '#b42318',
  onBad: '#ffffff',
  badSoft: '#fdecea',
  group1: '#1f5fd0',
  group2: '#0f8a80',
  group3: '#7c4dcc',
  group4: '#c05f10',
  group5: '#c23a7c',
  group6: '#6b7d12',
}

export const DARK: Colours = {
  ground: '#14171c',
  raised: '#1f242c',
  line: '#2b313b',
  control: '#6e7887',
  text: '#e6e9ee',
  muted: '#a2abb8',
  accent: '#7fb0ff',
  onAccent: '#14171c',
  accentSoft: '#1c2a42',
  good: '#63c58a',
  goodSoft: '#163022',
  warn: '#e5b04c',
  warnSoft: '#352a14',
  bad: '#ff8a80',
  onBad: '#14171c',
  badSoft: '#3b1f1f',
  group1: '#7fb0ff',
  group2: '#4fc3b7',
  group3: '#b79bff',
  group4: '#f0a05c',
  group5: '#f087b8',
  group6: '#b5c75a',
}
