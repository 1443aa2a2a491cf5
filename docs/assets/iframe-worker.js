/* Search without a server: browsers start no worker for pages that are opened from files. There, a worker's script runs
   in a hidden frame of the page instead. */
if (location.protocol === "file:") {
  // The theme looks for this name to know that its worker runs in a frame.
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.ready = new Promise((begin) => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        document.documentElement.append(frame);
        this.inside = frame.contentWindow;
        this.inside.postMessage = (data) => setTimeout(() => this.receive(data));
        this.inside.importScripts = (...scripts) =>
          scripts.reduce((before, script) => before.then(() => this.load(script)), Promise.resolve());
        this.load(url).then(begin);
      });
    }
    load(url) {
      return new Promise((loaded, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = loaded;
        script.onerror = () => failed(new Error("cannot be loaded: " + script.src));
        this.inside.document.head.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
    receive(data) {
      const event = new MessageEvent("message", { data });
      if (this.onmessage) this.onmessage(event);
      this.dispatchEvent(event);
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
