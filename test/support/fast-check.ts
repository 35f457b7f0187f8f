import fc from 'fast-check'
import { TEST_SEED } from './seed.ts'

/** fast-check with the seed of the test run. A failing property prints the seed and the path that reproduce it. */
fc.configureGlobal({ seed: TEST_SEED })

export default fc
