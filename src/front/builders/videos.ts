import { dialectOf } from '../../dialects/codecs.ts'
import { publicBaseUrl } from '../videos/base-url.ts'
import { LocalJobBook } from '../videos/job-book.ts'
import { JobReader } from '../videos/job-reader.ts'
import { JobSeal } from '../videos/job-seal.ts'
import { JobWatch } from '../videos/job-watch.ts'
import { SharedJobBook } from '../videos/shared-job-book.ts'
import { VideoContent } from '../videos/video-content.ts'
import { Videos } from '../videos/videos.ts'
import type { FrontBase } from './base.ts'
import type { FrontUpstreams } from './upstreams.ts'

/** How long the control process may take over a job. After it the front goes by what it knows itself. */
const JOB_WAIT_MS = 10_000

export interface FrontVideos {
  readonly videos: Videos
  readonly content: VideoContent
  readonly book: SharedJobBook
  readonly reader: JobReader
  readonly watch: JobWatch
}

export function buildVideos(base: FrontBase, { client, credentials, reach }: FrontUpstreams): FrontVideos {
  const { config, secrets, clock, deadlines, link } = base
  const { server, video } = config
  const seal = new JobSeal(secrets.keyHash)
  const reader = new JobReader(client, credentials, reach)
  const watch = new JobWatch({
    reader,
    deadlines,
    random: Math.random,
    firstMs: video.pollFirstMs,
    maxMs: video.pollMaxMs,
    giveUpMs: video.giveUpMs,
    onOver: (job, { error }) => {
      link.sendJob({ type: 'job-over', job, errorCode: error?.code ?? null })
    },
  })
  const book = new SharedJobBook({
    local: new LocalJobBook(() => clock.now()),
    deadlines,
    send: (message) => link.sendJob(message),
    patienceMs: JOB_WAIT_MS,
  })
  const videos = new Videos({
    clock,
    deadlines,
    seal,
    reader,
    watch,
    book,
    options: video,
    baseUrlOf: ({ exchange }) =>
      publicBaseUrl(server.baseUrl, server.tls === null ? 'http' : 'https', exchange.request),
    renderError: (error, requestId) => dialectOf('openai-videos').renderError(error, requestId),
  })
  return { videos, content: new VideoContent({ clock, seal, reader, maxStreams: video.maxJobs }), book, reader, watch }
}
