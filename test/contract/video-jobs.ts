import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ClaimRequest } from '../../src/shared/core/job-claim.ts'
import type { Database } from '../../src/control/store/database.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import {
  claimVideoJob,
  endVideoJob,
  forgetVideoJobs,
  releaseVideoJob,
  setVideoJob,
} from '../../src/control/store/video-jobs.ts'

/** What every database has to do with video jobs. */
export function videoJobsContract(open: () => Promise<Database>): void {
  describe('video jobs', () => {
    let database: Database

    beforeAll(async () => {
      database = await open()
      await migrate(database)
    })
    beforeEach(() => database.script('TRUNCATE video_jobs'))
    afterAll(() => database.close())

    const request = (fingerprint: string, forMs = 60_000): ClaimRequest => ({
      owner: 'key-1',
      fingerprint,
      untilMs: Date.now() + forMs,
    })

    it('are given to one of many who ask at once, and are busy for the others', async () => {
      const claims = await Promise.all(Array.from({ length: 20 }, () => claimVideoJob(database, request('a'))))
      expect(claims.map(({ kind }) => kind).sort()).toEqual([...Array<string>(19).fill('busy'), 'new'])
      expect(await claimVideoJob(database, { ...request('a'), owner: 'key-2' })).toEqual({ kind: 'new' })
    })

    it('are the same for the same request, until its time is over', async () => {
      await claimVideoJob(database, request('a'))
      await setVideoJob(database, request('a'), 'video_1')
      expect(await claimVideoJob(database, request('a'))).toEqual({ kind: 'job', id: 'video_1' })
      await endVideoJob(database, 'video_1', 'VIDEO_FAILED')
      expect(await claimVideoJob(database, request('a'))).toEqual({ kind: 'job', id: 'video_1' })
      await setVideoJob(database, request('b', -1), 'video_2')
      expect(await claimVideoJob(database, request('b'))).toEqual({ kind: 'new' })
    })

    it('may be begun again when they were not begun, but not when nobody knows', async () => {
      await claimVideoJob(database, request('a'))
      await releaseVideoJob(database, request('a'))
      expect(await claimVideoJob(database, request('a'))).toEqual({ kind: 'new' })
      await setVideoJob(database, request('a'), null)
      await releaseVideoJob(database, request('a'))
      expect(await claimVideoJob(database, request('a'))).toEqual({ kind: 'unknown' })
    })

    it('are not known of when their front was lost at their creation', async () => {
      await claimVideoJob(database, request('a'))
      await database.query(`UPDATE video_jobs SET created_at = now() - interval '10 minutes'`)
      expect(await claimVideoJob(database, request('a'))).toEqual({ kind: 'unknown' })
    })

    it('are forgotten long after', async () => {
      await setVideoJob(database, request('old', -8 * 86_400_000), 'video_1')
      await setVideoJob(database, request('new', -86_400_000), 'video_2')
      await forgetVideoJobs(database)
      expect(await database.query('SELECT job_id FROM video_jobs')).toEqual([{ job_id: 'video_2' }])
    })
  })
}
