/** Values of the labels of one series, in the order of its family. */
export type Labels = readonly string[]

/** Label value of the series that takes all counts past a family's bound of series. */
const OVERFLOW = 'other'

/** A sum that only grows. */
export class Counter {
  readonly labels: Labels
  value = 0

  constructor(labels: Labels) {
    this.labels = labels
  }

  add(amount: number): void {
    this.value += amount
  }
}

/** Counts of durations by bucket. */
export class Histogram {
  readonly labels: Labels
  /** Upper bounds in microseconds, ascending. */
  readonly bounds: readonly number[]
  /** One count for each bound, and one for values above all bounds; not cumulative. */
  readonly counts: Float64Array
  sumUs = 0

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(us: number): void {
    const { bounds } = this
    let low = 0
    let high = bounds.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (us <= (bounds[middle] as number)) high = middle
      else low = middle + 1
    }
    ;(this.counts[low] as number) += 1
    this.sumUs += us
  }
}

interface Branch<S> {
  readonly branches: Map<string, Branch<S>>
  series: S | null
}

/** The series of one family. A look-up allocates nothing. Past `maxSeries`, all new label values share one series. */
export class SeriesTable<S> {
  readonly #depth: number
  readonly #make: (labels: Labels) => S
  readonly #maxSeries: number
  readonly #root: Branch<S> = { branches: new Map(), series: null }
  readonly #all: S[] = []
  #overflow: S | null = null

  constructor(depth: number, maxSeries: number, make: (labels: Labels) => S) {
    this.#depth = depth
    this.#maxSeries = maxSeries
    this.#make = make
  }

  get all(): readonly S[] {
    return this.#all
  }

  at(a = '', b = '', c = '', d = ''): S {
    const depth = this.#depth
    let branch: Branch<S> | undefined = this.#root
    if (depth > 0) branch = branch.branches.get(a)
    if (depth > 1) branch = branch?.branches.get(b)
    if (depth > 2) branch = branch?.branches.get(c)
    if (depth > 3) branch = branch?.branches.get(d)
    return branch?.series ?? this.#grow([a, b, c, d].slice(0, depth))
  }

  #grow(labels: Labels): S {
    if (this.#all.length >= this.#maxSeries) {
      this.#overflow ??= this.#add(labels.map(() => OVERFLOW))
      return this.#overflow
    }
    return this.#add(labels)
  }

  #add(labels: Labels): S {
    let branch = this.#root
    for (const label of labels) {
      let next = branch.branches.get(label)
      if (next === undefined) {
        next = { branches: new Map(), series: null }
        branch.branches.set(label, next)
      }
      branch = next
    }
    if (branch.series === null) {
      branch.series = this.#make(labels)
      this.#all.push(branch.series)
    }
    return branch.series
  }
}
