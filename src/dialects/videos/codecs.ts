import type { VideoProtocol } from '../../shared/core/service.ts'
import { arkVideos } from './ark.ts'
import type { VideoCodec } from './codec.ts'
import { dashscopeVideos } from './dashscope.ts'
import { openaiVideoJobs } from './openai.ts'
import { veo } from './veo.ts'
import { xaiVideos } from './xai.ts'

const CODECS: Readonly<Record<VideoProtocol, VideoCodec>> = {
  'openai-videos': openaiVideoJobs,
  veo,
  'xai-videos': xaiVideos,
  'dashscope-videos': dashscopeVideos,
  'ark-videos': arkVideos,
}

export function videoCodec(protocol: VideoProtocol): VideoCodec {
  return CODECS[protocol]
}
