// Browsers start no workers from files: there, what is to run as one runs in a frame of its own.
if (location.protocol === "file:")
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.document.open()
      inside.document.close()
      inside.postMessage = message => {
        const data = structuredClone(message)
        setTimeout(() => this.onmessage?.({ data }))
      }
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = url
        script.onload = resolve
        script.onerror = reject
        inside.document.documentElement.append(script)
      })
      this.ready.catch(error => this.onerror?.(error))
    }

    postMessage(message) {
      const data = structuredClone(message)
      this.ready.then(() => this.frame.contentWindow.onmessage?.({ data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
